/** The assembler of DeepSeek Harness: told sections and variables, it says what assembling and rendering them costs. */
import { Context } from '@deepseek-ai/cordis'
import { renderPrompt, SystemPrompt } from '@deepseek-ai/dsh-system-prompt'

process.on('message', async ({ sections, variables, rounds }) => {
  const root = new Context()
  await root.plugin(SystemPrompt, { persona: 'You are an agent.' })
  const service = root.get('systemPrompt')
  for (const [name, value] of Object.entries(variables)) service.variable(name, () => value)
  for (const [index, text] of sections.entries()) service.section({ name: `section:${index}`, order: 100 + index, text })
  for (let warm = 0; warm < 500; warm++) renderPrompt(await service.assemble())
  const times = []
  for (let round = 0; round < rounds; round++) {
    const began = performance.now()
    renderPrompt(await service.assemble())
    times.push((performance.now() - began) * 1000)
  }
  const bytes = Buffer.byteLength(renderPrompt(await service.assemble()))
  process.send({ bytes, micros: times.sort((a, b) => a - b)[Math.floor(rounds / 2)] })
})
process.on('disconnect', () => process.exit(0))
