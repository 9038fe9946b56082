/** What GitHub says that somebody may do in a repository, and what it makes of them here (spec Q1). */
export type Permission = 'admin' | 'maintain' | 'write' | 'triage' | 'read' | 'none'

export const mayWrite = (permission: Permission): boolean => mayAdminister(permission) || permission === 'write'
export const mayAdminister = (permission: Permission): boolean => permission === 'admin' || permission === 'maintain'

const ORDER: readonly Permission[] = ['none', 'read', 'triage', 'write', 'maintain', 'admin']

export const weaker = (a: Permission, b: Permission): Permission => (ORDER.indexOf(a) < ORDER.indexOf(b) ? a : b)
