/** What GitHub says that somebody may do in a repository, and what it makes of them here (spec Q1). */
export type Permission = 'admin' | 'maintain' | 'write' | 'triage' | 'read' | 'none'

export const mayWrite = (permission: Permission): boolean => mayAdminister(permission) || permission === 'write'
export const mayAdminister = (permission: Permission): boolean => permission === 'admin' || permission === 'maintain'
