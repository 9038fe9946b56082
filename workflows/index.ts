/** The two workflow types, as the worker bundles them. */
export { mainSession } from './main-session.ts'
export { ticket } from './ticket.ts'
