export type Command = { name: 'pause' | 'resume' | 'close' | 'status' | 'accept' | 'decline'; target: string | null }

const NAMES: Record<string, Command['name']> = {
  pause: 'pause',
  stop: 'pause',
  暂停: 'pause',
  停一下: 'pause',
  停止: 'pause',
  resume: 'resume',
  恢复: 'resume',
  close: 'close',
  关闭: 'close',
  status: 'status',
  状态: 'status',
  accept: 'accept',
  接受: 'accept',
  decline: 'decline',
  拒绝: 'decline',
}

/** A chat command (spec N5), or null: anything but an exact command is language for the model. `text` has no mention. */
export function parseCommand(text: string): Command | null {
  const match = /^\s*(?<word>\p{L}+)(?:\s+(?<target>[TC]-\d+))?\s*\p{P}*\s*$/u.exec(
    text.toLowerCase().replace(/\b([tc])-(\d+)/g, (id) => id.toUpperCase()),
  )
  const name = match?.groups?.word && NAMES[match.groups.word]
  return name ? { name, target: match.groups?.target ?? null } : null
}
