/** Search attributes of the workflows, by the names and types with which a namespace knows them (design §4). */
export const SEARCH_ATTRIBUTES = {
  SyRole: 'Keyword',
  SyState: 'Keyword',
  SyTicket: 'Keyword',
  SyPaused: 'Bool',
  SyWaitingSince: 'Datetime',
  SyThreads: 'KeywordList',
} as const
