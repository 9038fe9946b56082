/**
 * The prompt configuration as one document (spec A1–A3): the team's sections, its skills and its overrides. What is absent follows
 * the program. A draft is the same, but that an override may leave out its base (spec B8).
 */
import { z } from 'zod'
import type { TeamSections } from '../prompt/section.ts'
import { DEFAULT_SECTIONS } from '../prompt/team.ts'

/** A sentence that people read first, so it says something, and nothing that a reader would not see. */
const sayable = (text: string): boolean => text.trim() !== '' && !/(?!\n)\p{Cc}|<!--/u.test(text)

const line = z
  .string()
  .min(1)
  .max(500)
  .refine((text) => !/[\r\n]/.test(text), { message: 'holds a line break; it is one line' })

const override = z.strictObject({
  text: z.string(),
  /** The built-in text that it was made from (spec B4). */
  base: z.string().optional(),
})

export const Draft = z.strictObject({
  sections: z.strictObject({
    communication: z
      .strictObject({
        text: z.string().optional(),
        opening: line
          .refine(sayable, { message: 'holds nothing but space, a control character or <!--; it is one sentence that people read' })
          .optional(),
        reviewBots: z.array(line).max(100).optional(),
      })
      .optional(),
    scope: z.strictObject({ text: z.string().optional() }).optional(),
    delivery: z
      .strictObject({
        text: z.string().optional(),
        autoMerge: z.strictObject({ enabled: z.boolean(), maxChangedLines: z.int().min(0) }).optional(),
        uiPaths: z.array(line).max(100).optional(),
        commitAuthor: z
          .strictObject({
            name: line.refine((text) => !/[<>]/.test(text), { message: 'holds < or >, which divide name and address in a commit' }),
            email: line.refine((text) => /^[^\s@<>]+@[^\s@<>]+$/.test(text), { message: 'is no mail address such as agent@example.com' }),
          })
          .optional(),
      })
      .optional(),
  }),
  // names and lengths are checked beside, with what they collide with
  skills: z.array(z.strictObject({ name: z.string(), description: z.string(), body: z.string() })),
  overrides: z.record(z.string(), override),
})

export type Draft = z.infer<typeof Draft>

/** What a revision holds: every override knows its base. */
export interface ConfigurationDocument extends Omit<Draft, 'overrides'> {
  overrides: Record<string, { text: string; base: string }>
}

export const EMPTY: ConfigurationDocument = { sections: {}, skills: [], overrides: {} }

/** The sections with the default for each field that the team did not set; a text that is null follows the built-in one. */
export function teamSections({ communication, scope, delivery }: ConfigurationDocument['sections']): TeamSections {
  const of = DEFAULT_SECTIONS
  return {
    communication: {
      text: communication?.text ?? of.communication.text,
      opening: communication?.opening ?? of.communication.opening,
      reviewBots: communication?.reviewBots ?? of.communication.reviewBots,
    },
    scope: { text: scope?.text ?? of.scope.text },
    delivery: {
      text: delivery?.text ?? of.delivery.text,
      autoMerge: delivery?.autoMerge ?? of.delivery.autoMerge,
      uiPaths: delivery?.uiPaths ?? of.delivery.uiPaths,
      commitAuthor: delivery?.commitAuthor ?? of.delivery.commitAuthor,
    },
  }
}

/** One form for equal documents: names in the order of their code units, nothing undefined, no spaces. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, each) =>
    each !== null && typeof each === 'object' && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  )
}
