/** A number that the ledger gave out, such as 12 in C-12; what is above cannot be one. */
import { z } from 'zod'

export const ledgerNumber = () => z.int().positive().max(2_147_483_647)
