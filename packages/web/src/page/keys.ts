import { letterKeys } from './preferences.ts'

/** The action of a key, for the help. Combinations are written as they are pressed: 'g t', 'Shift+ArrowLeft'. */
export type Command = { readonly keys: string; readonly says: string; readonly place: string; run(): void }

const commands = new Set<Command>()
let prefix = ''
let prefixTimer = 0

/** Adds commands; the returned function removes them. */
export function addCommands(
  place: string,
  given: { readonly [keys: string]: readonly [string, () => void] },
): () => void {
  const added = Object.entries(given).map(([keys, [says, run]]): Command => ({ keys, says, place, run }))
  for (const command of added) commands.add(command)
  return () => {
    for (const command of added) commands.delete(command)
  }
}

export const allCommands = (): readonly Command[] => [...commands]

addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target)) return
  const name = event.shiftKey && event.key.length > 1 ? `Shift+${event.key}` : event.key
  const isLetter = event.key.length === 1 && event.key !== ' '
  if (isLetter && letterKeys.value === 'off') return
  if (document.querySelector('dialog[open], .popover:popover-open') !== null) return
  // The newest comes first: a screen may override a key of the shell.
  const found = [...commands].reverse().find(({ keys }) => keys === (prefix === '' ? name : `${prefix} ${name}`))
  clearTimeout(prefixTimer)
  const begins = prefix === '' && [...commands].some(({ keys }) => keys.startsWith(`${name} `))
  prefix = found === undefined && begins ? name : ''
  if (prefix !== '')
    prefixTimer = setTimeout(() => {
      prefix = ''
    }, 1500)
  if (found === undefined && prefix === '') return
  if (found !== undefined && isPressable(event.target) && (event.key === ' ' || event.key === 'Enter')) return
  event.preventDefault()
  found?.run()
})

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName))
  )
}

const isPressable = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && /^(button|a|summary)$/i.test(target.tagName)
