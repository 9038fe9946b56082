import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { jsonSchema } from '../schema/json-schema.ts'
import { githubPullRequest, readAction } from './github-pull-request.ts'
import { orchestratorRoute, readDecision } from './orchestrator-route.ts'
import { offered, PACKAGES, type Package, type Present } from './packages.ts'
import { findTool, parseInput } from './parse-input.ts'
import { shell } from './shell.ts'
import { todoWrite } from './todo-write.ts'
import { type Role, tool } from './tool.ts'
import { TOOLS } from './tools.ts'

const everything: Present = { github: true, workspace: true, skills: true, subagents: [] }
const namesFor = (role: Role, given = everything) => offered(role, given).tools.map(({ name }) => name)

function refusal(outcome: { refused: string } | object): string {
  if (!('refused' in outcome)) throw new Error(`not refused: ${JSON.stringify(outcome)}`)
  return outcome.refused
}

describe('who has which tool', () => {
  test('[E1] the main Session can route, read and save prompts, and nothing else', () => {
    expect(namesFor('main')).toEqual(['orchestrator_route', 'orchestrator_read', 'orchestrator_prompts_save', 'skill'])
    expect(offered('main', everything).tools.every(({ place }) => place === 'ledger')).toBe(true)
  })

  test('[H1] an Executor has these tools, and none that asks a person or waits for one', () => {
    expect(namesFor('executor')).toEqual([
      'orchestrator_acknowledge',
      'orchestrator_report',
      'orchestrator_read',
      'read',
      'write',
      'edit',
      'glob',
      'grep',
      'shell',
      'todo_write',
      'skill',
      'reply',
      'github_push',
      'github_pull_request',
    ])
  })

  test('[D10] a subagent has no tool that speaks, reports or reaches outside', () => {
    expect(namesFor('subagent')).toEqual(['read', 'write', 'edit', 'glob', 'grep', 'shell', 'todo_write'])
  })

  test('[I1] no tool resumes', () => {
    expect(TOOLS.filter(({ name, description }) => /resume|unpause/.test(name + description))).toEqual([])
  })

  test('[D6] what is absent takes its tools and its habit with it, and brings them back', () => {
    const without = offered('executor', { github: true, workspace: false, skills: true, subagents: [] })
    expect(without.tools.map(({ name }) => name)).not.toContain('shell')
    expect(without.packages.filter(({ habit }) => habit)).toEqual([])
    expect(namesFor('executor', { github: false, workspace: true, skills: true, subagents: [] })).not.toContain('github_push')
    expect(offered('executor', everything).packages.flatMap(({ habit }) => habit ?? [])).toEqual(['habit/files', 'habit/shell'])
  })

  test('[D6] a provider of subagents brings a tool whose words follow its flag, leaves with it, and comes back the same', () => {
    const fresh = { tool: 'subagent', inheritsParentContext: false }
    const fork = { tool: 'subagent_fork', inheritsParentContext: true }
    const both = offered('executor', { ...everything, subagents: [fresh, fork] })
    const told = (name: string) =>
      JSON.stringify(jsonSchema(both.tools.find((each) => each.name === name)!)) +
      both.tools.find((each) => each.name === name)!.description
    expect(told('subagent')).toMatch(/complete in itself.*It sees nothing of this conversation/s)
    expect(told('subagent_fork')).toMatch(
      /say only what is new.*It sees the finished turns of this conversation and nothing of the current one/s,
    )
    expect(told('subagent') + told('subagent_fork')).not.toContain('{{')

    expect(namesFor('executor', { ...everything, subagents: [fork] })).not.toContain('subagent')
    expect(namesFor('executor', everything).filter((name) => name.startsWith('subagent'))).toEqual([])
    expect(offered('executor', { ...everything, subagents: [fresh, fork] })).toEqual(both)
    for (const role of ['main', 'subagent'] as const)
      expect(namesFor(role, { ...everything, subagents: [fresh, fork] }).join()).not.toContain('subagent')
    expect(() => offered('executor', { ...everything, subagents: [fresh, fresh] })).toThrow(
      /tool "subagent" .* by the packages "subagents" and "subagents"/,
    )
  })

  test('[D3] two tools of one name for one role are refused, and both owners are named', () => {
    const again: Package = { name: 'plug-in', tools: [shell], present: () => true }
    expect(() => offered('executor', everything, [...PACKAGES, again])).toThrow(/tool "shell".* executor .*"shell" and "plug-in"/)
    expect(() => offered('main', everything, [...PACKAGES, again])).not.toThrow()
  })
})

describe('what a model is told', () => {
  const told = TOOLS.map((each) => [each.name, JSON.stringify([each.description, jsonSchema(each)])] as const)

  test.each(told)('[D5, F241] %s holds no double brace', (_, text) => expect(text).not.toContain('{{'))

  test.each(TOOLS.map((each) => [each.name, each] as const))('[D5] %s has a schema that every provider takes', (_, each) => {
    const schema = jsonSchema(each)
    expect(Object.keys(schema).sort()).toEqual(['additionalProperties', 'properties', 'required', 'type'])
    expect(schema).toMatchObject({ type: 'object', additionalProperties: false })
    expect(JSON.stringify(schema)).not.toMatch(/anyOf|oneOf|allOf|\$ref|\$schema|exclusiveM|9007199254740991/)
    expect(() => new Ajv2020({ strict: true }).compile(schema)).not.toThrow()
  })
})

describe('inputs', () => {
  test('[A4] a refusal names each fault with its path and the legal form', () => {
    const text = refusal(parseInput(shell, { command: '', timeoutSeconds: 4000, cwd: '/' }))
    expect(text).toContain('shell: the input does not fit, so nothing was done.')
    expect(text).toContain('- command: found ""; legal is a text of 1 to 50000 characters')
    expect(text).toContain('- timeoutSeconds: found 4000; legal is a whole number from 1 to 1800')
    expect(text).toContain('- cwd: no such name; legal is command, timeoutSeconds')
    expect(refusal(parseInput(shell, {}))).toContain('- command: missing; legal is a text')
  })

  test('[A4] a fault inside a list is named by its place', () => {
    const text = refusal(parseInput(todoWrite, { items: [{ content: 'a', status: 'done' }] }))
    expect(text).toContain('- items[0].status: found "done"; legal is one of "pending", "in_progress", "completed"')
    expect(
      refusal(
        parseInput(todoWrite, {
          items: [
            { content: 'a', status: 'pending' },
            { content: 'a', status: 'pending' },
          ],
        }),
      ),
    ).toContain('- items[1]: stands twice')
    const running = { status: 'in_progress' }
    expect(
      refusal(
        parseInput(todoWrite, {
          items: [
            { content: 'a', ...running },
            { content: 'b', ...running },
          ],
        }),
      ),
    ).toContain('2 items are in_progress')
  })

  test.each([null, 3, 'x', [], undefined])('[A4] %j is refused as no object', (input) => {
    expect(refusal(parseInput(shell, input))).toMatch(/- the input: .*; legal is an object with command, timeoutSeconds/)
  })

  test('[A4] an unknown tool is answered with those that exist', () => {
    const { tools } = offered('executor', everything)
    expect(findTool('shell', tools)).toEqual({ tool: shell })
    expect(refusal(findTool('shel', tools))).toMatch(/no tool "shel"; did you mean shell\? You have: orchestrator_acknowledge, /)
    expect(refusal(findTool('resume_everything', tools))).not.toContain('did you mean')
  })

  test('[A4] no input makes it throw', () => {
    fc.assert(
      fc.property(fc.constantFrom(...TOOLS), fc.jsonValue(), (each, input) => {
        const outcome = parseInput(each, input)
        if ('refused' in outcome) expect(outcome.refused).toContain(each.name)
      }),
    )
  })

  test('[D3] a tool of its own schema keeps the type of its value', () => {
    const own = tool({
      name: 'own',
      for: ['main'],
      nature: 'read',
      place: 'ledger',
      description: 'x',
      input: z.strictObject({ n: z.int() }),
    })
    const outcome = parseInput(own, { n: 3 })
    expect('ok' in outcome && outcome.value.n + 1).toBe(4)
  })
})

describe('github_pull_request', () => {
  test.each([
    [
      { action: 'open', branch: 'b', title: 't', body: 'x' },
      { action: 'open', branch: 'b', base: null, title: 't', body: 'x', draft: true },
    ],
    [
      { action: 'open', branch: 'b', title: 't', body: 'x', draft: false, base: 'dev' },
      { action: 'open', branch: 'b', base: 'dev', title: 't', body: 'x', draft: false },
    ],
    [
      { action: 'update', number: 3, body: 'x' },
      { action: 'update', number: 3, title: null, body: 'x' },
    ],
    [
      { action: 'ready', number: 3 },
      { action: 'ready', number: 3 },
    ],
    [
      { action: 'close', number: 3, comment: 'c' },
      { action: 'close', number: 3, comment: 'c' },
    ],
  ])('[H7] %j is accepted', (input, action) => {
    const outcome = parseInput(githubPullRequest, input)
    expect('ok' in outcome && readAction(outcome.value)).toEqual(action)
  })

  test.each([
    [{ action: 'open', title: 't', body: 'x' }, '- branch: is missing: "open" takes branch, title, body and may take base, draft'],
    [{ action: 'ready' }, '- number: is missing: "ready" takes number'],
    [{ action: 'close', number: 3, body: 'x' }, '- body: does not belong here: "close" takes number and may take comment'],
    [{ action: 'update', number: 3 }, '- title: nothing to update: give title, body or both'],
    [{ action: 'merge', number: 3 }, '- action: found "merge"; legal is one of "open", "update", "ready", "draft", "close"'],
  ])('[H7] %j is refused with what the action takes', (input, line) => {
    expect(refusal(parseInput(githubPullRequest, input))).toContain(line)
  })
})

describe('orchestrator_route', () => {
  const words = (count: number) => Array.from({ length: count }, (_, i) => `word${i}`).join(' ')

  test('[E2] one decision that does not fit leaves the others of its batch alone', () => {
    const decisions = [
      { decision: 'start', candidate: 1, title: 'x'.repeat(81) },
      { decision: 'start', candidate: 2, title: ' Fix  the login ', note: words(30) },
      { decision: 'start', candidate: 3, title: 'Fix it', note: words(31) },
      { decision: 'ignore', candidate: 4, reason: 'Nothing is asked for.' },
      { decision: 'ignore', candidate: 5 },
      { decision: 'start', candidate: 6, title: '中'.repeat(80) },
    ]
    const outcome = parseInput(orchestratorRoute, { decisions })
    expect('ok' in outcome && outcome.value.decisions.map(readDecision)).toEqual([
      { refused: '"title" has 81 characters; at most 80 are legal' },
      { decision: 'start', candidate: 2, title: 'Fix the login', note: words(30) },
      { refused: expect.stringContaining('the routing note has 31 words; at most 30 are legal') },
      { decision: 'ignore', candidate: 4, reason: 'Nothing is asked for.' },
      { refused: '"reason" is missing; give 1 to 300 characters' },
      { decision: 'start', candidate: 6, title: '中'.repeat(80), note: null },
    ])
  })

  test('[E2] what belongs to the other kind of decision is refused by name', () => {
    expect(readDecision({ decision: 'ignore', candidate: 1, reason: 'r', title: 't' })).toEqual({
      refused: 'ignore takes no title; it takes "reason" only',
    })
    expect(readDecision({ decision: 'start', candidate: 1, reason: 'r', title: 't' })).toMatchObject({
      refused: expect.stringContaining('no reason'),
    })
  })

  test('[E2] a batch has 1 to 50 decisions', () => {
    expect(refusal(parseInput(orchestratorRoute, { decisions: [] }))).toContain('found a list of 0; legal is a list of 1 to 50 items')
  })
})
