/** What an App does in its own name: itself, its installations, their tokens, and the log of its deliveries. */
import { addToken } from '../acts/setup.ts'
import { canSee } from '../auth.ts'
import { type Answer, type Call, found, link, notFound, numberParam, ok, page, pageSize, type Route, refuse } from '../http.ts'
import { accessToken, installation, integration, repositoryShape } from '../shapes/accounts.ts'
import {
  type App,
  accountOf,
  type Delivery,
  type Hook,
  type Installation,
  installationFor,
  type Level,
  type Repository,
  repositoryOf,
  roleIn,
} from '../state.ts'

export const appRoutes: readonly Route[] = [
  { method: 'GET', path: '/app', handle: (call) => ok(integration(call.world, caller(call))) },
  {
    method: 'GET',
    path: '/app/installations',
    handle: (call) => page(call, installationsOf(call), (row) => installation(call.world, row)),
  },
  {
    method: 'GET',
    path: '/app/installations/{installation_id}',
    handle: (call) => ok(installation(call.world, ownInstallation(call))),
  },
  { method: 'POST', path: '/app/installations/{installation_id}/access_tokens', handle: mintToken },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/installation',
    handle(call) {
      const repository = found(repositoryOf(call.world.state, call.params.owner!, call.params.repo!))
      return ok(installation(call.world, found(installationFor(call.world.state, caller(call).id, repository))))
    },
  },
  ...(['users', 'orgs'] as const).map(
    (kind): Route => ({
      method: 'GET',
      path: kind === 'users' ? '/users/{username}/installation' : '/orgs/{org}/installation',
      handle(call) {
        const account = found(accountOf(call.world.state, call.params.username ?? call.params.org!))
        return ok(installation(call.world, found(installationsOf(call).find((row) => row.accountId === account.id))))
      },
    }),
  ),
  {
    method: 'GET',
    path: '/installation/repositories',
    handle(call) {
      const { actor, world } = call
      if (actor.kind !== 'installation')
        return refuse(403, 'You must authenticate with an installation access token in order to list repositories for an installation.')
      const { repositories } = actor.token
      const rows = repositoriesOf(call, actor.installation).filter((row) => repositories === 'all' || repositories.includes(row.id))
      const wrap = (items: unknown[]) => ({
        total_count: rows.length,
        repository_selection: repositories === 'all' ? 'all' : 'selected',
        repositories: items,
      })
      return page(call, rows, (row) => repositoryShape(world, row), wrap)
    },
  },
  { method: 'GET', path: '/app/hook/deliveries', handle: (call) => deliveriesPage(call, appHook(call)) },
  { method: 'GET', path: '/app/hook/deliveries/{delivery_id}', handle: (call) => ok(fullDelivery(call, ownDelivery(call, appHook(call)))) },
  { method: 'POST', path: '/app/hook/deliveries/{delivery_id}/attempts', handle: (call) => redeliver(call, appHook(call)) },
  { method: 'GET', path: '/repos/{owner}/{repo}/hooks/{hook_id}/deliveries', handle: (call) => deliveriesPage(call, repositoryHook(call)) },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/hooks/{hook_id}/deliveries/{delivery_id}',
    handle: (call) => ok(fullDelivery(call, ownDelivery(call, repositoryHook(call)))),
  },
  {
    method: 'POST',
    path: '/repos/{owner}/{repo}/hooks/{hook_id}/deliveries/{delivery_id}/attempts',
    handle: (call) => redeliver(call, repositoryHook(call)),
  },
]

function caller({ actor }: Call): App {
  if (actor.kind === 'app') return actor.app
  return refuse(401, 'A JSON web token could not be decoded')
}

function installationsOf(call: Call): Installation[] {
  const app = caller(call)
  return call.world.state.installations.filter((row) => row.appId === app.id)
}

function ownInstallation(call: Call): Installation {
  const id = numberParam(call, 'installation_id')
  return found(installationsOf(call).find((row) => row.id === id))
}

function repositoriesOf({ world }: Call, row: Installation): Repository[] {
  const chosen = row.repositories
  return world.state.repositories.filter(
    (repository) => repository.ownerId === row.accountId && (chosen === 'all' || chosen.includes(repository.id)),
  )
}

const LIFE_MS = 3_600_000

function mintToken(call: Call): Answer {
  const { world, body } = call
  const row = ownInstallation(call)
  const app = caller(call)
  const permissions = grantedPermissions(app, body.permissions)
  const covered = repositoriesOf(call, row)
  const asked = chosenRepositories(covered, body)
  const expiresAt = new Date(Date.now() + LIFE_MS).toISOString().replace(/\.\d{3}Z$/, 'Z')
  const repositories = asked?.map((repository) => repository.id) ?? 'all'
  const token = world.change(() =>
    addToken(world.state, 'ghs_', { accountId: app.botId, installation: { id: row.id, permissions, repositories, expiresAt } }),
  )
  const shown = asked ?? (row.repositories === 'all' ? 'all' : covered)
  return ok(accessToken(world, { token, expiresAt, permissions, repositories: shown }), 201)
}

function grantedPermissions(app: App, asked: unknown): Record<string, Level> {
  if (asked === undefined || asked === null) return app.permissions
  const entries = Object.entries(asked as Record<string, Level>)
  const beyond = entries.some(([name, level]) => !app.permissions[name] || (level === 'write' && app.permissions[name] === 'read'))
  if (beyond) refuse(422, 'The permissions requested are not granted to this installation.')
  return Object.fromEntries(entries)
}

function chosenRepositories(covered: Repository[], body: Record<string, unknown>): Repository[] | null {
  const names = Array.isArray(body.repositories) ? body.repositories : []
  const ids = Array.isArray(body.repository_ids) ? body.repository_ids : []
  if (names.length + ids.length === 0) return null
  const chosen = covered.filter((repository) => names.includes(repository.name) || ids.includes(repository.id))
  if (chosen.length < names.length + ids.length) {
    refuse(422, 'There is at least one repository that does not exist or is not accessible to the parent installation.')
  }
  return chosen
}

function appHook(call: Call): Hook {
  const app = caller(call)
  return found(call.world.state.hooks.find((hook) => hook.target.type === 'integration' && hook.target.id === app.id))
}

function repositoryHook(call: Call): Hook {
  const { actor, world, params } = call
  const repository = found(repositoryOf(world.state, params.owner!, params.repo!))
  const admin = actor.kind === 'person' && roleIn(repository, actor.account.id) === 'admin'
  if (!canSee(actor, repository) || !admin) notFound()
  const id = numberParam(call, 'hook_id')
  return found(world.state.hooks.find((hook) => hook.id === id && hook.target.type === 'repository' && hook.target.id === repository.id))
}

function ownDelivery(call: Call, hook: Hook): Delivery {
  const id = numberParam(call, 'delivery_id')
  return found(call.world.state.deliveries.find((delivery) => delivery.id === id && delivery.hookId === hook.id))
}

/** Newest first, from the cursor on; what has not been answered yet is not in the log. */
function deliveriesPage(call: Call, hook: Hook): Answer {
  const { query, world } = call
  const cursor = query.get('cursor')
  const before = cursor === null ? Number.POSITIVE_INFINITY : Number(/^v1_(\d+)$/.exec(cursor)?.[1] ?? refuse(400, 'Bad Request'))
  const status = query.get('status')
  const rows = world.state.deliveries
    .filter((delivery) => delivery.hookId === hook.id && delivery.progress === 'done' && delivery.id < before)
    .filter((delivery) => status === null || (status === 'success') === (delivery.status === 'OK'))
    .reverse()
  const shown = rows.slice(0, pageSize(call))
  const last = shown.at(-1)
  const more = last && rows.length > shown.length
  return { status: 200, body: shown.map(deliveryItem), headers: more ? { link: link(call, { cursor: `v1_${last.id}` }, 'next') } : {} }
}

function deliveryItem(delivery: Delivery): Record<string, unknown> {
  return {
    id: delivery.id,
    guid: delivery.guid,
    delivered_at: delivery.at,
    redelivery: delivery.redelivery,
    duration: delivery.duration,
    status: delivery.status,
    status_code: delivery.statusCode,
    event: delivery.event,
    action: delivery.action,
    installation_id: delivery.installationId,
    repository_id: delivery.repositoryId,
    throttled_at: null,
  }
}

function fullDelivery({ world }: Call, delivery: Delivery): Record<string, unknown> {
  const { request, response } = world.deliveryBody(delivery.id)
  const url = found(world.state.hooks.find((hook) => hook.id === delivery.hookId)).url
  return { ...deliveryItem(delivery), url, request, response: response ?? { headers: null, payload: null } }
}

function redeliver(call: Call, hook: Hook): Answer {
  call.world.redeliver(ownDelivery(call, hook).id)
  return ok({}, 202)
}
