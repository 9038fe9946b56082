/** Who runs the command, as the records will have it. */
import { userInfo } from 'node:os'

/** In a container the user may have a number and no name. */
export function whoAsks(): string {
  try {
    return userInfo().username
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_SYSTEM_ERROR') throw error
    return `user ${process.getuid?.()}`
  }
}
