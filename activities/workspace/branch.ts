/**
 * Which names a branch may have (F299, F346): git's own rules for a reference, said in words. A name is only ever an argument of
 * its own, so `fix#12`, `$(id)` and `修复/登录` are plain text.
 */

const RULES: readonly [RegExp, string][] = [
  [/^$/, 'it is empty'],
  [/^-/, 'it begins with "-"'],
  [/^refs\//, 'it is a full reference: give the name after refs/heads/'],
  [/[\x00-\x20\x7f~^:?*[\\]/, 'it holds a space, a control character or one of ~ ^ : ? * [ \\'],
  [/\.\.|@\{/, 'it holds ".." or "@{"'],
  [/^\/|\/$|\/\//, 'it has an empty part between slashes'],
  [/(?:^|\/)\./, 'a part of it begins with "."'],
  [/\.lock(?:\/|$)/, 'a part of it ends with ".lock"'],
  [/\.$/, 'it ends with "."'],
  [/^(?:@|HEAD)$/, 'it is a name that git uses itself'],
  [/\p{Surrogate}/u, 'it is ill-formed text'],
]

/** Null if the name is legal, else what is wrong with it. */
export function flawOfBranch(name: string): string | null {
  const broken = RULES.find(([pattern]) => pattern.test(name))
  if (broken) return `"${name}" is no branch name: ${broken[1]}`
  return Buffer.byteLength(name) > 200 ? `"${name}" is no branch name: it is longer than 200 bytes` : null
}

const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/

/** Null if it is a full commit id. */
export function flawOfCommit(sha: string): string | null {
  return COMMIT.test(sha) ? null : `"${sha}" is no full commit id (40 or 64 hexadecimal digits)`
}
