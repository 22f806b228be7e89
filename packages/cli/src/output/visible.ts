import { randomBytes } from 'node:crypto'
import { styleText } from 'node:util'
import type { Colour } from './text-stream.ts'

/**
 * Control characters act as commands to a terminal; format characters (bidirectional overrides, zero-width ones) make a
 * line read as another; unpaired surrogates are no characters. All of them are shown as their number.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

export const visible = (text: string): string => text.replaceAll(UNSEEN, numberOf)

function numberOf(character: string): string {
  const hex = (character.codePointAt(0) ?? 0).toString(16)
  return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`
}

/** Distinguishes our own colours from stored text: nobody who stores a message can know it. */
const MARK = `\0${randomBytes(12).toString('hex')}`
const MARKS = new RegExp(`${MARK}([a-z]*)\0`)

/** Text to be coloured when it is shown. */
export const marked = (colour: Colour, text: string): string => `${MARK}${colour}\0${text}${MARK}\0`

/** A line for the terminal: special characters in stored text are made visible, and only our own colours remain. */
export function shown(line: string): string {
  let [text = '', ...rest] = line.split(MARKS)
  text = visible(text)
  for (; rest.length > 3; rest = rest.slice(4)) {
    const [colour = '', inner = '', , after = ''] = rest
    text += styleText(colour as Colour, visible(inner), { validateStream: false }) + visible(after)
  }
  return text
}

/** Number of terminal columns. */
export const widthOf = (text: string): number =>
  visible(
    text
      .split(MARKS)
      .filter((_, at) => at % 2 === 0)
      .join(''),
  ).length
