import { tell } from './notices.ts'

/** Copies a text. Plain HTTP in a LAN has no clipboard API, so execCommand is the fallback. */
export async function copy(text: string, what: string): Promise<void> {
  const copied = (await copyByApi(text)) || copyBySelection(text)
  if (copied) tell(`Copied ${what}.`)
  else tell(`${what} could not be copied. Select it and press Ctrl+C.`, { kind: 'failed' })
}

async function copyByApi(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}

function copyBySelection(text: string): boolean {
  const field = document.createElement('textarea')
  field.value = text
  field.className = 'offscreen'
  document.body.append(field)
  field.select()
  try {
    return document.execCommand('copy')
  } finally {
    field.remove()
  }
}
