/** A comment: opened with the opening sentence (spec H5), found again by its hidden marker among the agent's own comments, so an uncertain one is never written twice. */
import { messageBody } from '../../core/message/opening.ts'
import { openingSentence } from '../opening.ts'
import type { EffectAt, EffectKind, Landed } from './effect-kind.ts'

/** `reviewComment` is the root comment of a review thread. */
export interface CommentPlace {
  repository: string
  number: number
  reviewComment: string | null
}

/** Our clock and GitHub's may differ; looking further back costs a page. */
const CLOCKS_APART_MS = 60 * 60_000

export const comment: EffectKind = {
  async find({ github, row }: EffectAt): Promise<Landed | null> {
    const { repository, number, reviewComment } = row.payload as unknown as CommentPlace
    const { id: authorId } = await github.identity()
    const since = new Date(row.createdAt.getTime() - CLOCKS_APART_MS)
    const search = { number, key: row.key, authorId, since, ...(reviewComment === null ? {} : { reviewComment }) }
    const found = await github.client.findCommentByMarker(repository, search)
    return found && { externalId: found.id, url: found.url }
  },
  async send({ deps, github, row }: EffectAt): Promise<Landed> {
    const { repository, number, reviewComment } = row.payload as unknown as CommentPlace
    const body = messageBody({ opening: await openingSentence(deps), text: row.body ?? '', key: row.key })
    const made =
      reviewComment === null
        ? await github.client.createComment(repository, number, body)
        : await github.client.replyInReviewThread(repository, number, reviewComment, body)
    return { externalId: made.id, url: made.url }
  },
}
