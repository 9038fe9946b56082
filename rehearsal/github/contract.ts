/**
 * The contract: requests, answers and deliveries held against GitHub's own OpenAPI description, for both sides of the wire. The
 * description is read once; each operation is translated (nullable becomes a type of its own) and compiled when it is first met.
 * It is stricter than the description in one way: fields that it does not know are faults, because a client that sends one or
 * relies on one has made it up.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Ajv, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import { bestMatch, compileTemplate } from './paths.ts'

export interface Contract {
  request(method: string, path: string, query: URLSearchParams, body: unknown): string[]
  response(method: string, path: string, status: number, body: unknown): string[]
  delivery(event: string, action: string | null, payload: unknown): string[]
}

type Json = Record<string, unknown>
interface Operation {
  method: string
  template: string
  description: Json
  parameters: Json[]
}

/** Served by GitHub for ages, never described. */
const UNDESCRIBED = { prefix: /^\/repositories\/\d+/, as: '/repos/owner/repository' }

/** What any route may answer besides what is described for it, always in the basic shape. */
const ANYWHERE = new Set([400, 401, 403, 404, 415, 422, 500, 502, 503])

/** Each route describes its refusals in another way; what is sent is always this. */
const REFUSAL: Json = {
  type: 'object',
  required: ['message', 'documentation_url'],
  properties: {
    message: { type: 'string' },
    documentation_url: { type: 'string' },
    status: { type: 'string' },
    errors: { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'object', required: ['resource', 'code'] }] } },
  },
}

export function createContract(): Contract {
  const file = createRequire(import.meta.url).resolve('@octokit/openapi/generated/api.github.com.json')
  const described = corrected(JSON.parse(readFileSync(file, 'utf8')) as Json)
  const ajv = new Ajv({ strict: false, allErrors: true, coerceTypes: false, validateFormats: true, logger: false, unicodeRegExp: false })
  const words = new Ajv({
    strict: false,
    allErrors: true,
    coerceTypes: 'array',
    validateFormats: true,
    logger: false,
    unicodeRegExp: false,
  })
  for (const validator of [ajv, words]) {
    addFormats.default(validator)
    // a bot's address holds the brackets of its login, which the strict format refuses and GitHub sends
    validator.addFormat('email', /^[^@\s]+@[^@\s]+$/)
  }
  const compiled = new Map<string, ValidateFunction>()
  const templates = Object.keys(described.paths as Json).map(compileTemplate)

  function check(key: string, schema: () => Json, value: unknown, validator = ajv): string[] {
    const known = compiled.get(key)
    const validate = known ?? validator.compile(standalone(described, schema()))
    if (!known) compiled.set(key, validate)
    if (validate(value)) return []
    return (validate.errors ?? []).map((error) => {
      const detail = error.keyword === 'additionalProperties' ? ` (${error.params.additionalProperty})` : ''
      return `${error.instancePath || '/'} ${error.message}${detail}`
    })
  }

  function operationAt(method: string, path: string): Operation | null {
    const plain = path.replace(UNDESCRIBED.prefix, UNDESCRIBED.as)
    const best = bestMatch(
      templates.filter((template) => method.toLowerCase() in ((described.paths as Json)[template.path] as Json)),
      plain,
    )
    if (!best) return null
    const description = ((described.paths as Json)[best.path] as Json)[method.toLowerCase()] as Json
    const parameters = ((description.parameters as Json[] | undefined) ?? []).map((parameter) => deref(described, parameter))
    return { method, template: best.path, description, parameters }
  }

  return {
    request(method, path, query, body) {
      const operation = operationAt(method, path)
      if (!operation) return [`${method} ${path}: GitHub describes no such route`]
      const key = `${method} ${operation.template}`
      const known = operation.parameters.filter((parameter) => parameter.in === 'query')
      const properties = Object.fromEntries(known.map((parameter) => [parameter.name as string, parameter.schema]))
      const required = known.filter((parameter) => parameter.required === true).map((parameter) => parameter.name)
      const queryFaults = check(`${key} query`, () => ({ type: 'object', properties, required }), Object.fromEntries(query), words)
      const content = operation.description.requestBody === undefined ? null : deref(described, operation.description.requestBody as Json)
      const schema = content ? jsonSchema(content) : null
      const bodyFaults =
        body === undefined ? [] : schema ? check(`${key} body`, () => schema, body) : isEmpty(body) ? [] : ['/ takes no body']
      return [...queryFaults.map((fault) => `${key} query${fault}`), ...bodyFaults.map((fault) => `${key} body${fault}`)]
    },
    response(method, path, status, body) {
      const operation = operationAt(method, path)
      if (!operation) return status === 404 ? [] : [`${method} ${path}: GitHub describes no such route, but it was answered with ${status}`]
      const key = `${method} ${operation.template} ${status}`
      const answers = operation.description.responses as Json
      const answer = answers[String(status)]
      if (!answer && !ANYWHERE.has(status)) return [`${key}: GitHub describes no such answer`]
      if (status >= 400) return check('refusal', () => REFUSAL, body).map((fault) => `${key}${fault}`)
      const schema = answer ? jsonSchema(deref(described, answer as Json)) : null
      if (!schema) return isEmpty(body) ? [] : [`${key}: GitHub sends no body here`]
      return check(key, () => schema, body).map((fault) => `${key}${fault}`)
    },
    delivery(event, action, payload) {
      const name = [event, action].filter(Boolean).join('-').replaceAll('_', '-')
      const webhook = (described['x-webhooks'] as Json)[name] as Json | undefined
      if (!webhook) return [`delivery ${name}: GitHub describes no such delivery`]
      const schema = jsonSchema((webhook.post as Json).requestBody as Json) ?? {}
      return check(`delivery ${name}`, () => schema, payload).map((fault) => `delivery ${name}${fault}`)
    },
  }
}

/**
 * Where the description contradicts itself: the account of a listed installation is said to be a user and an enterprise at once,
 * and that of a single one to be either.
 */
function corrected(described: Json): Json {
  const listed = at(described, '#/paths/~1app~1installations/get/responses/200/content/application~1json/schema/items/properties')
  const { allOf, ...account } = listed.account as Json
  listed.account = { ...account, anyOf: allOf }
  return described
}

function isEmpty(body: unknown): boolean {
  return body === undefined || body === null || body === '' || (typeof body === 'object' && Object.keys(body).length === 0)
}

function jsonSchema(holder: Json): Json | null {
  const content = holder.content as Record<string, Json> | undefined
  return (content?.['application/json']?.schema as Json | undefined) ?? null
}

function deref(described: Json, value: Json): Json {
  const ref = value.$ref
  return typeof ref === 'string' ? deref(described, at(described, ref)) : value
}

function at(described: Json, ref: string): Json {
  return ref
    .slice(2)
    .split('/')
    .map((key) => key.replaceAll('~1', '/'))
    .reduce((value, key) => value[key] as Json, described)
}

/** One schema that carries all that it names, translated. */
function standalone(described: Json, schema: Json): Json {
  const $defs: Json = {}
  const root = translate(schema, true, collect)
  function collect(ref: string, closable: boolean): string {
    const name = ref.replace(/^#\/components\//, '').replaceAll('/', '.') + (closable ? '' : '.open')
    if (!(name in $defs)) {
      $defs[name] = {} // before its own parts, which may name it again
      $defs[name] = translate(at(described, ref), closable, collect)
    }
    return `#/$defs/${name}`
  }
  return { ...root, $defs }
}

type Collect = (ref: string, closable: boolean) => string

const NOTES = new Set(['example', 'examples', 'description', 'title', 'deprecated', 'externalDocs', 'nullable', 'xml', 'default'])

/** `closable`: nothing beside it names further fields, so what it does not name is a fault. */
function translate(schema: Json, closable: boolean, collect: Collect): Json {
  if (typeof schema.$ref === 'string') return { $ref: collect(schema.$ref, closable) }
  const out: Json = {}
  const alternativesClosable = closable && schema.properties === undefined
  for (const [key, value] of Object.entries(schema)) {
    if (NOTES.has(key) || key.startsWith('x-')) continue
    out[key] = translated(key, value, alternativesClosable, collect)
  }
  const closed = closable && out.properties && out.additionalProperties === undefined && !out.allOf && !out.anyOf && !out.oneOf
  if (closed) out.additionalProperties = false
  return schema.nullable === true ? orNull(out) : out
}

function translated(key: string, value: unknown, alternativesClosable: boolean, collect: Collect): unknown {
  switch (key) {
    case 'properties':
      return Object.fromEntries(Object.entries(value as Record<string, Json>).map(([name, part]) => [name, translate(part, true, collect)]))
    case 'anyOf':
    case 'oneOf':
      return (value as Json[]).map((part) => translate(part, alternativesClosable, collect))
    case 'allOf':
      return (value as Json[]).map((part) => translate(part, false, collect))
    case 'items':
    case 'not':
      return translate(value as Json, true, collect)
    case 'additionalProperties':
      return typeof value === 'object' && value !== null ? translate(value as Json, true, collect) : value
    default:
      return value
  }
}

function orNull(schema: Json): Json {
  if (schema.type === undefined || schema.allOf || schema.anyOf || schema.oneOf) return { anyOf: [schema, { type: 'null' }] }
  const choices = schema.enum as unknown[] | undefined
  return { ...schema, type: [schema.type, 'null'], ...(choices && !choices.includes(null) ? { enum: [...choices, null] } : {}) }
}
