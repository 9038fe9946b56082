/** Accounts, repositories and who may do what in them. */
import { allow, canSee, READ, repositoryFor } from '../auth.ts'
import { type Call, found, notFound, ok, page, type Route, refuse } from '../http.ts'
import { collaboratorPermission, fullRepository, minimalRepository, publicUser, simpleUser } from '../shapes/accounts.ts'
import { accountOf, byId, type Repository, type Role, roleIn } from '../state.ts'

export const accountRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/user',
    handle(call) {
      if (call.actor.kind === 'installation') return refuse(403, 'Resource not accessible by integration')
      if (call.actor.kind !== 'person') return refuse(401, 'Requires authentication')
      return ok(publicUser(call.world, call.actor.account))
    },
  },
  {
    method: 'GET',
    path: '/users/{username}',
    handle: ({ world, params }) => ok(publicUser(world, found(accountOf(world.state, params.username!)))),
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}',
    handle(call) {
      const repository = repositoryFor(call, READ.metadata)
      return ok(fullRepository(call.world, repository, roleOfCaller(call, repository)))
    },
  },
  {
    method: 'GET',
    path: '/user/repos',
    handle(call) {
      const { actor, world } = call
      if (actor.kind !== 'person') return refuse(actor.kind === 'installation' ? 403 : 401, 'Requires authentication')
      const mine = world.state.repositories.filter((repository) => roleIn(repository, actor.account.id) !== null)
      return page(call, mine, (repository) => withoutCounts(fullRepository(world, repository, roleIn(repository, actor.account.id))))
    },
  },
  {
    method: 'GET',
    path: '/orgs/{org}/repos',
    handle(call) {
      const { actor, world } = call
      const owner = found(accountOf(world.state, call.params.org!))
      const seen = world.state.repositories.filter((repository) => repository.ownerId === owner.id && canSee(actor, repository))
      return page(call, seen, (repository) => minimalRepository(world, repository))
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/collaborators/{username}/permission',
    handle(call) {
      const { world, params } = call
      const repository = repositoryFor(call, READ.metadata)
      // public to read, but only for one who may push
      allow(call.actor, repository, {
        permissions: ['metadata'],
        level: call.actor.kind === 'installation' ? 'read' : 'write',
        role: 'write',
      })
      const account = found(accountOf(world.state, params.username!))
      return ok(collaboratorPermission(world, repository, account, roleIn(repository, account.id)))
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/collaborators/{username}',
    handle(call) {
      const repository = repositoryFor(call, READ.metadata)
      const account = found(accountOf(call.world.state, call.params.username!))
      return roleIn(repository, account.id) ? { status: 204 } : notFound()
    },
  },
  {
    method: 'GET',
    path: '/repos/{owner}/{repo}/assignees',
    handle(call) {
      const { world } = call
      const repository = repositoryFor(call, READ.metadata)
      const ids = [...new Set([...Object.keys(repository.members).map(Number), repository.ownerId])]
      const people = ids.map((id) => byId(world.state.accounts, id, 'account')).filter((account) => account.type === 'User')
      return page(call, people, (account) => simpleUser(world, account))
    },
  },
]

function roleOfCaller({ actor }: Call, repository: Repository): Role | null {
  if (actor.kind === 'person') return roleIn(repository, actor.account.id)
  if (actor.kind === 'installation') return actor.token.permissions.contents === 'write' ? 'write' : 'read'
  return null
}

/** A list's repositories lack what only a single one shows. */
function withoutCounts({
  network_count: _network,
  subscribers_count: _subscribers,
  organization: _organization,
  ...rest
}: Record<string, unknown>) {
  return rest
}
