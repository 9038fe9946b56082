/** `switchyard config export | edit`: the configuration as files, in the editor of whoever runs it. */
import { spawn } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { ConfigurationDocument } from '../../core/config/document.ts'
import type { Files } from '../../core/config/files.ts'
import { fromFiles } from '../../core/config/files.ts'
import { checkDraft } from '../../core/config/save.ts'
import { SECTION_NAMES } from '../../core/prompt/team.ts'
import { PARTS } from '../../core/prompt/templates.ts'
import { headVersion } from '../../ledger/versions.ts'
import { homeFolder } from '../../worker/environment.ts'
import { complain, type ExitCode, refuse, say, sayJson } from '../terminal.ts'
import { type Context, revisionOf, withConfiguration } from './context.ts'
import { documentDifferences } from './diff.ts'
import { readFolder, touchedSince, writeFolder } from './folder.ts'
import { type SaveOptions, saveFolder } from './save.ts'

export function exportFolder(folder: string, { revision, json = false }: { revision?: string; json?: boolean }): Promise<ExitCode> {
  return withConfiguration(async ({ db }) => {
    const found = await revisionOf(db, revision)
    if ('refused' in found) return refuse(found.refused, { json })
    writeFolder(folder, found.number, found.document)
    if (json) sayJson({ revision: found.number, folder })
    else say(`r${found.number} is in ${folder}. After editing: switchyard config import ${folder}`)
    return 0
  })
}

export function edit(options: SaveOptions): Promise<ExitCode> {
  return withConfiguration(async (context) => {
    const head = await revisionOf(context.db, undefined)
    if ('refused' in head) throw new Error(head.refused)
    const drafts = join(homeFolder(context.settings.home), 'drafts')
    mkdirSync(drafts, { recursive: true, mode: 0o700 })
    const folder = join(drafts, `r${head.number}-${new Date().toISOString().replace(/[:.]/g, '-')}`)
    const written = writeFolder(folder, head.number, head.document, programTexts(context.builtIn))
    const editor = process.env.VISUAL || process.env.EDITOR || 'vi'
    const code = await runEditor(editor, folder)
    const shown = relative(process.cwd(), folder) || folder
    if (code !== 0)
      return refuse(`${editor} ended with ${code}, so nothing was saved. The draft is kept: switchyard config import ${shown}`, options)
    const touched = touchedSince(written, folder)
    if (touched.length === 0) {
      rmSync(folder, { recursive: true })
      if (options.json) sayJson({ refused: 'nothing was changed, so nothing was saved' })
      else say('Nothing was changed, so nothing was saved.')
      return 0
    }
    const beside = touched.filter(({ isBeside }) => isBeside).map(({ path }) => path)
    if (holdsTheSame(context, folder, head.document)) {
      const why = beside.length === 0 ? 'which changes no word' : 'and what lies beside to be read is not saved'
      return refuse(
        `nothing was saved: you changed ${touched.map(({ path }) => path).join(', ')}, ${why}. The folder is kept: ${shown}`,
        options,
      )
    }
    const saved = await saveFolder(context, folder, options)
    const { number: newest } = await headVersion(context.db, 'prompts')
    const onto = newest === head.number ? '' : ` --onto ${newest}`
    if (saved !== 0) complain(`the draft is kept in ${shown}. When it is mended: switchyard config import ${shown}${onto}`)
    else if (beside.length === 0) rmSync(folder, { recursive: true })
    else complain(`${beside.join(', ')} lies beside to be read, so what you changed there is not saved. The folder is kept: ${shown}`)
    return saved
  })
}

/** A sound draft without a change; a draft with a fault is for the save to refuse. */
function holdsTheSame({ builtIn, maxBytes }: Context, folder: string, stored: ConfigurationDocument): boolean {
  const { files, faults } = readFolder(folder)
  const read = fromFiles(files, stored)
  if (faults.length > 0 || 'faults' in read) return false
  const checked = checkDraft(read.draft, { stored, builtIn, maxBytes })
  return !('faults' in checked) && documentDifferences(stored, checked.document).length === 0
}

/** A shell, since an editor is often given with options. */
function runEditor(editor: string, folder: string): Promise<number> {
  const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'sh', folder], { stdio: 'inherit' })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? 1))
  })
}

/** The program's own texts and what the folder is, for reading. */
function programTexts(builtIn: Readonly<Record<string, string>>): Files {
  return {
    'README.md': README,
    ...Object.fromEntries(SECTION_NAMES.map((name) => [`built-in/sections/${name}.md`, builtIn[`sections/${name}`]!])),
    ...Object.fromEntries(PARTS.map((part) => [`built-in/overrides/${part}.md`, builtIn[part]!])),
  }
}

const README = `# The prompt configuration

When you close the editor, this folder is checked, shown as a diff, and saved as the next revision. Nothing is lost if that fails.

- \`sections/communication.md\`, \`scope.md\`, \`delivery.md\`: what the team says. A file that is not there follows the built-in text.
- \`fields.json\`: facts on which the program acts, such as {"communication": {"opening": "…", "reviewBots": []},
  "delivery": {"autoMerge": {"enabled": false, "maxChangedLines": 0}, "uiPaths": [], "commitAuthor": {"name": "…", "email": "…"}}}.
- \`skills/<name>/SKILL.md\`: a text that agents load when they need it. It opens with a line ---, name: and description:, and a line ---.
- \`overrides/<part>.md\`: in place of a part of the built-in prompt. To begin with one, copy it from \`built-in/overrides/\`.
- \`bases/<part>.md\`: the built-in text that an override was made from. To say that you have seen a newer one, copy that over it.
- \`built-in/\`: the program's own texts, to read and copy. Changes there are not saved.
`
