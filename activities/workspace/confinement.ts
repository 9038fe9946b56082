/**
 * What a command sees (spec H10, M8; F353): the system's programs read-only, its own Ticket's folder, a private /tmp, a few
 * environment variables, no network. The lists below are allowlists; what they do not name does not exist inside: no state
 * folder, no other Ticket, no mirror, no `.env`, no home of the host's user, no /var, /run, /sys.
 *
 * bubblewrap is called with an argument list of our own. @anthropic-ai/sandbox-runtime can say the same (deny "/", allow the rest
 * back), but its denies of dangerous files follow the working directory of the host's process, not of the command; it starts two
 * relays and a wait for each command, network or not (190 ms a command against 9 ms, measured); it puts proxy addresses and a
 * Java agent into every environment, and forbids Unix sockets, which test suites use. Its filtering proxy is what an allowlist
 * of hosts needs, and is used for that (network.ts).
 */
import { lstatSync, readdirSync, readlinkSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { TicketFolders } from './layout.ts'
import type { Relay } from './network.ts'

/** Programs and libraries. Older systems have folders where newer ones link into /usr. */
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/opt', '/nix']

/** Of /etc only what programs need to start, find libraries and check certificates; passwords, keys and package sources are elsewhere. */
// biome-ignore format: a list to read
const ETC = [
  'alternatives', 'ca-certificates', 'ca-certificates.conf', 'fonts', 'group', 'host.conf', 'hosts', 'inputrc', 'ld.so.cache', 'ld.so.conf',
  'ld.so.conf.d', 'localtime', 'locale.alias', 'magic', 'mime.types', 'nsswitch.conf', 'passwd', 'perl', 'php', 'pki/tls/certs', 'protocols',
  'services', 'ssl/certs', 'ssl/openssl.cnf', 'terminfo', 'timezone',
]
const ETC_FAMILIES = /^(?:java-|python\d)/

/** Folder of the node that runs this project, put first on PATH. */
const NODE_FOLDER = '/switchyard/bin'

/** Where the relay of allowed hosts is found inside. */
export const RELAY_SOCKET = '/switchyard/relay.sock'

/** Taken over from the host if set there; all else is said here. */
const TAKEN_OVER = ['LANG', 'LC_ALL', 'LC_CTYPE', 'TZ']

/** The whole environment of a command. */
export function environmentInside(given: {
  path: string
  home: string
  tmp: string
  extra: Readonly<Record<string, string>>
}): Record<string, string> {
  const takenOver = TAKEN_OVER.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]))
  return {
    LANG: 'C.UTF-8',
    ...Object.fromEntries(takenOver),
    PATH: given.path,
    HOME: given.home,
    TMPDIR: given.tmp,
    SHELL: '/bin/sh',
    USER: 'agent',
    LOGNAME: 'agent',
    // no terminal, nobody to answer: no colours, no pager, no prompt, no editor
    TERM: 'dumb',
    NO_COLOR: '1',
    CI: 'true',
    PAGER: 'cat',
    GIT_PAGER: 'cat',
    GIT_TERMINAL_PROMPT: '0',
    GIT_EDITOR: 'true',
    ...given.extra,
  }
}

/** PATH of a command: our node first, then the host's own entries that are visible there. */
export function pathInside(visible: readonly string[], nodeFolder: string): string {
  const entries = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((entry) => visible.some((root) => entry === root || entry.startsWith(`${root}/`)))
  const usual = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin']
  return [...new Set([nodeFolder, ...entries, ...usual])].join(delimiter)
}

export interface Confined {
  folders: TicketFolders
  cwd: string
  argv: readonly string[]
  /** More host folders to see read-only: toolchains outside /usr. */
  readable: readonly string[]
  relay: Relay | null
  canForbidNamespaces: boolean
}

/** PATH inside bubblewrap. */
export function confinedPath(readable: readonly string[]): string {
  return pathInside([...SYSTEM, ...readable], NODE_FOLDER)
}

export function bubblewrapArguments(given: Confined): string[] {
  const { folders } = given
  return [
    ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-net', '--unshare-cgroup-try', '--die-with-parent'],
    ...['--cap-drop', 'ALL', ...(given.canForbidNamespaces ? ['--disable-userns'] : [])],
    ...['--proc', '/proc', '--dev', '/dev'],
    ...SYSTEM.flatMap(system),
    ...etcNames().flatMap((name) => ['--ro-bind-try', join('/etc', name), join('/etc', name)]),
    ...['--ro-bind', process.execPath, `${NODE_FOLDER}/node`],
    ...privateTmp(folders),
    ...['--dir', '/run'],
    ...given.readable.flatMap((folder) => ['--ro-bind', folder, folder]),
    ...hiddenIn([...SYSTEM, ...given.readable], folders.root).flatMap((folder) => ['--tmpfs', folder]),
    ...(given.relay ? ['--bind', given.relay.socket, RELAY_SOCKET] : []),
    // each checkout is a mount of its own: it can be emptied from inside, but not replaced by a link that the host would follow
    ...[...checkoutsIn(folders.root), folders.home, folders.bundles].flatMap((folder) => ['--bind', folder, folder]),
    ...['--ro-bind', folders.output, folders.output],
    ...['--remount-ro', '/'],
    ...['--chdir', given.cwd, '--', ...given.argv],
  ]
}

function system(path: string): string[] {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (!stat) return []
  return stat.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path]
}

/**
 * The Ticket's own /tmp, kept from command to command. Where the state folder itself lies below /tmp, an empty one each time:
 * its mounts would stand on names that the last command could have turned into links.
 */
function privateTmp(folders: TicketFolders): string[] {
  return folders.root.startsWith('/tmp/') ? ['--tmpfs', '/tmp'] : ['--bind', folders.tmp, '/tmp']
}

/** The state folder and this project, with its `.env`, if they lie in what is shown (`/opt/switchyard`, for example). */
function hiddenIn(visible: readonly string[], root: string): string[] {
  const secret = [join(root, '..', '..'), join(import.meta.dirname, '..', '..')]
  return secret.filter((folder) => visible.some((shown) => folder.startsWith(`${shown}/`)))
}

function etcNames(): string[] {
  return [...ETC, ...readdirSync('/etc').filter((name) => ETC_FAMILIES.test(name))]
}

/** The Ticket's own checkouts, most often one. Names with `@` are the host's. */
function checkoutsIn(root: string): string[] {
  const entries = readdirSync(root, { withFileTypes: true })
  return entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('@')).map((entry) => join(root, entry.name))
}
