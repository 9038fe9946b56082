/**
 * The network of the sandbox: none, but for the hosts that the deployment allows. A command's namespace has no interface but
 * loopback; allowed hosts are reached through the filtering proxy of @anthropic-ai/sandbox-runtime, which also refuses names that
 * resolve into private address space, over a Unix socket.
 *
 * That proxy is one for the process: two sandboxes with different lists in one process are refused.
 */
import { SandboxManager } from '@anthropic-ai/sandbox-runtime'

export interface Relay {
  socket: string
  environment: Record<string, string>
}

/** Where the relay listens inside. */
const PORT = 3128

let opened: { hosts: string; relay: Promise<Relay> } | null = null

export function openRelay(allowedHosts: readonly string[]): Promise<Relay> {
  const hosts = [...allowedHosts].sort().join(' ')
  if (opened && opened.hosts !== hosts)
    throw new Error(`the sandbox's network allowlist of this process is "${opened.hosts}"; it cannot be "${hosts}" as well`)
  opened ??= { hosts, relay: startRelay([...allowedHosts]) }
  return opened.relay
}

export async function closeRelay(): Promise<void> {
  if (!opened) return
  opened = null
  await SandboxManager.reset()
}

async function startRelay(allowedDomains: string[]): Promise<Relay> {
  await SandboxManager.initialize({
    network: { allowedDomains, deniedDomains: [], strictAllowlist: true },
    filesystem: { denyRead: [], allowRead: [], allowWrite: [], denyWrite: [] },
  })
  await SandboxManager.waitForNetworkInitialization()
  const [socket, token] = [SandboxManager.getLinuxHttpSocketPath(), SandboxManager.getProxyAuthToken()]
  if (!socket || !token) throw new Error('the filtering proxy of the sandbox did not start: is socat installed?')
  // the token opens this proxy only, and the proxy only the allowed hosts
  const proxy = `http://srt:${token}@127.0.0.1:${PORT}`
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']
  const proxies = names.flatMap((name) => [
    [name, proxy],
    [name.toLowerCase(), proxy],
  ])
  return {
    socket,
    environment: {
      ...Object.fromEntries(proxies),
      NO_PROXY: 'localhost,127.0.0.1,::1',
      no_proxy: 'localhost,127.0.0.1,::1',
      NODE_USE_ENV_PROXY: '1',
    },
  }
}

/** The command behind a relay of its own, which ends with the namespace; it starts when the relay accepts connections. */
export function behindRelay(argv: readonly string[], socket: string): string[] {
  const script = [
    `socat TCP4-LISTEN:${PORT},bind=127.0.0.1,fork,reuseaddr UNIX-CONNECT:${socket} &`,
    `for try in $(seq 200); do (exec 3<>/dev/tcp/127.0.0.1/${PORT}) 2>/dev/null && exec "$@"; sleep 0.02; done`,
    'echo "the relay to the allowed hosts did not start: is socat installed?" >&2; exit 125',
  ].join('\n')
  return ['/bin/bash', '--norc', '-c', script, 'relay', ...argv]
}
