/** One thing that is wrong with a draft: where in the document (a JSON pointer, RFC 6901), what was found, what is legal. */
export interface ConfigFault {
  pointer: string
  found: string
  /** Null: `found` is a sentence that says it all. */
  legal: string | null
}

export const pointerOf = (path: readonly PropertyKey[]): string =>
  path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

export const faultLine = ({ pointer, found, legal }: ConfigFault): string =>
  `${pointer === '' ? 'the document' : pointer}: ${found}${legal === null ? '' : `; legal is ${legal}`}`
