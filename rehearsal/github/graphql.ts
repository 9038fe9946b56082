/**
 * GraphQL over GitHub's own schema, so that a query that GitHub would refuse is refused here. What the schema has and the
 * rehearsal does not serve is an error that names the field, and a loud line, never a silent null. Refusals come with HTTP 200.
 */
import {
  buildSchema,
  defaultTypeResolver,
  execute,
  GraphQLError,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  parse,
  validate,
} from 'graphql'
import { type By, refuseLocked } from './acts/issues.ts'
import { setDraft } from './acts/pulls.ts'
import { replyInThread, resolveThread } from './acts/reviews.ts'
import { type Actor, authorOf, canSee, may, READ, viaApp, WRITE } from './auth.ts'
import { actorNode, type Fields, node, pullNode, repositoryNode, threadNode } from './graphql-nodes.ts'
import { type Answer, refusalOf } from './http.ts'
import { byId, type Pull, parseNodeId, type Repository, type ReviewThread, repositoryOf } from './state.ts'
import type { Watch, World } from './world.ts'

let lazySchema: Promise<GraphQLSchema> | null = null

/** The schema is large; a rehearsal that never asks by GraphQL never reads it. */
function githubSchema(): Promise<GraphQLSchema> {
  lazySchema ??= import('@octokit/graphql-schema').then(({ schema }) => buildSchema(schema.idl, { assumeValid: true }))
  return lazySchema
}

export async function answerGraphql(world: World, actor: Actor, body: Record<string, unknown>, watch: Watch): Promise<Answer> {
  if (actor.kind !== 'person' && actor.kind !== 'installation') {
    return {
      status: 401,
      body: {
        message: 'This endpoint requires you to be authenticated.',
        documentation_url: 'https://docs.github.com/graphql',
        status: '401',
      },
    }
  }
  if (typeof body.query !== 'string') return errors([new GraphQLError('A query attribute must be specified and must be a string.')])
  const schema = await githubSchema()
  let document: ReturnType<typeof parse>
  try {
    document = parse(body.query)
  } catch (error) {
    if (error instanceof GraphQLError) return errors([error])
    throw error
  }
  const faults = validate(schema, document)
  if (faults.length > 0) return errors(faults)

  const result = await execute({
    schema,
    document,
    rootValue: { ...queries(world, actor), ...mutations(world, actor) },
    variableValues: (body.variables as Fields | undefined) ?? {},
    operationName: typeof body.operationName === 'string' ? body.operationName : null,
    fieldResolver: served(watch),
    typeResolver: defaultTypeResolver,
  })
  return {
    status: 200,
    body: { ...(result.data === undefined ? {} : { data: result.data }), ...(result.errors ? { errors: result.errors.map(shown) } : {}) },
  }
}

function errors(faults: readonly GraphQLError[]): Answer {
  return { status: 200, body: { errors: faults.map(shown) } }
}

/** GitHub names the kind of an error beside its message. */
function shown(error: GraphQLError): Fields {
  const refusal = refusalOf(error.originalError)
  const type = error.extensions.type ?? (refusal ? (TYPES[refusal.status] ?? 'UNPROCESSABLE') : undefined)
  return { ...(type ? { type } : {}), path: error.path, locations: error.locations, message: error.message }
}

const TYPES: Record<number, string> = { 401: 'FORBIDDEN', 403: 'FORBIDDEN', 404: 'NOT_FOUND' }

function served(watch: Watch): GraphQLFieldResolver<unknown, unknown> {
  return (source, args, context, info) => {
    const fields = source as Fields
    if (!(info.fieldName in fields)) {
      const name = `${info.parentType.name}.${info.fieldName}`
      watch.loud(`offline GitHub: GraphQL ${name} is in GitHub's schema, but the rehearsal does not serve it`)
      throw new GraphQLError(`the rehearsal does not serve ${name}`)
    }
    const value = fields[info.fieldName]
    return typeof value === 'function' ? value(args, context, info) : value
  }
}

function refusal(type: 'NOT_FOUND' | 'FORBIDDEN' | 'UNPROCESSABLE', message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { type } })
}

function queries(world: World, actor: Actor): Fields {
  const { state } = world
  const visible = (id: string): Fields => {
    const row = parseNodeId(id)
    const shape = row && node(world, row, (repository) => canSee(actor, repository))
    if (!shape) throw refusal('NOT_FOUND', `Could not resolve to a node with the global id of '${id}'`)
    return shape
  }
  return {
    viewer: () => actorNode(world, authorOf(actor).id, 'User'),
    node: ({ id }: { id: string }) => visible(id),
    nodes: ({ ids }: { ids: string[] }) => ids.map(visible),
    repository({ owner, name }: { owner: string; name: string }) {
      const repository = repositoryOf(state, owner, name)
      if (repository && canSee(actor, repository)) return repositoryNode(world, repository)
      throw refusal('NOT_FOUND', `Could not resolve to a Repository with the name '${owner}/${name}'.`)
    },
    rateLimit: () => ({
      limit: 5000,
      remaining: 4999,
      used: 1,
      cost: 1,
      nodeCount: 0,
      resetAt: new Date(Date.now() + 3_600_000).toISOString(),
    }),
  }
}

interface Input<T> {
  input: T & { clientMutationId?: string }
}

function mutations(world: World, actor: Actor): Fields {
  const by = (): By => ({ accountId: authorOf(actor).id, appId: viaApp(actor) })
  const integration = actor.kind === 'installation'

  function pullOf(id: string): { pull: Pull; repository: Repository } {
    const named = parseNodeId(id)
    const pull = named?.kind === 'pull' ? world.state.pulls.find((row) => row.id === named.id) : undefined
    const repository = pull && byId(world.state.repositories, pull.repositoryId, 'repository')
    if (!pull || !repository || !canSee(actor, repository))
      throw refusal('NOT_FOUND', `Could not resolve to a node with the global id of '${id}'`)
    return { pull, repository }
  }
  function threadOf(id: string): { thread: ReviewThread; pull: Pull; repository: Repository } {
    const named = parseNodeId(id)
    const thread = named?.kind === 'reviewThread' ? world.state.reviewThreads.find((row) => row.id === named.id) : undefined
    const pull = thread && byId(world.state.pulls, thread.pullId, 'pull request')
    const repository = pull && byId(world.state.repositories, pull.repositoryId, 'repository')
    if (!thread || !pull || !repository || !canSee(actor, repository))
      throw refusal('NOT_FOUND', `Could not resolve to a node with the global id of '${id}'`)
    return { thread, pull, repository }
  }
  function allowed(repository: Repository, need: (typeof WRITE)[keyof typeof WRITE], pull?: Pull): void {
    const own = pull && byId(world.state.issues, pull.issueId, 'issue').userId === authorOf(actor).id
    if (may(actor, repository, need) || (own && may(actor, repository, integration ? WRITE.pulls : READ.pulls))) return
    const who = authorOf(actor).login
    throw refusal(
      'FORBIDDEN',
      integration ? 'Resource not accessible by integration' : `${who} does not have the correct permissions to execute this mutation`,
    )
  }
  function draft({ input }: Input<{ pullRequestId: string }>, wanted: boolean): Fields {
    const { pull, repository } = pullOf(input.pullRequestId)
    allowed(repository, integration ? WRITE.pulls : WRITE.contents, pull)
    if (byId(world.state.issues, pull.issueId, 'issue').state !== 'open') throw refusal('UNPROCESSABLE', 'The pull request is closed')
    setDraft(world, pull, by(), wanted)
    return { clientMutationId: input.clientMutationId ?? null, pullRequest: pullNode(world, pull) }
  }
  function resolve({ input }: Input<{ threadId: string }>, wanted: boolean): Fields {
    const { thread, pull, repository } = threadOf(input.threadId)
    // as an App it takes the right to write contents, too (facts: found out by many)
    if (integration) allowed(repository, WRITE.pulls)
    if (integration) allowed(repository, WRITE.contents)
    else allowed(repository, WRITE.contents, pull)
    resolveThread(world, thread, by(), wanted)
    return { clientMutationId: input.clientMutationId ?? null, thread: threadNode(world, thread) }
  }

  return {
    markPullRequestReadyForReview: (args: Input<{ pullRequestId: string }>) => draft(args, false),
    convertPullRequestToDraft: (args: Input<{ pullRequestId: string }>) => draft(args, true),
    resolveReviewThread: (args: Input<{ threadId: string }>) => resolve(args, true),
    unresolveReviewThread: (args: Input<{ threadId: string }>) => resolve(args, false),
    addPullRequestReviewThreadReply({ input }: Input<{ pullRequestReviewThreadId: string; body: string }>): Fields {
      const { thread, pull, repository } = threadOf(input.pullRequestReviewThreadId)
      allowed(repository, WRITE.pulls)
      refuseLocked(byId(world.state.issues, pull.issueId, 'issue'), may(actor, repository, WRITE.contents) && !integration)
      if (input.body.trim() === '') throw refusal('UNPROCESSABLE', "Body can't be blank")
      const comment = replyInThread(world, thread, by(), input.body)
      const shape = node(world, { kind: 'reviewComment', id: comment.id }, () => true)
      return { clientMutationId: input.clientMutationId ?? null, comment: shape }
    },
  }
}
