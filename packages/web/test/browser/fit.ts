import type { Page } from 'playwright-core'

type Box = { readonly left: number; readonly right: number; readonly width: number }
type Element = {
  readonly tagName: string
  readonly className: unknown
  readonly parentElement: Element | null
  readonly textContent: string | null
  getBoundingClientRect(): Box
}

/** What stands out of the window sideways without a box that scrolls or an ellipsis, as `tag.class "text"`. */
export async function sticksOut(page: Page): Promise<string[]> {
  return await page.evaluate(() => {
    const { document, innerWidth, getComputedStyle } = globalThis as unknown as {
      document: { querySelectorAll(query: string): Iterable<Element> }
      innerWidth: number
      getComputedStyle(element: Element): { overflowX: string; textOverflow: string }
    }
    const canBeReached = (element: Element): boolean => {
      for (let outer: Element | null = element; outer !== null; outer = outer.parentElement) {
        if (outer.tagName === 'BODY') return false
        const { overflowX, textOverflow } = getComputedStyle(outer)
        if (/auto|scroll/.test(overflowX) || outer.tagName === 'svg') return true
        if (/hidden|clip/.test(overflowX) && textOverflow === 'ellipsis') return true
      }
      return false
    }
    return [...document.querySelectorAll('body *')]
      .filter(element => {
        const { left, right, width } = element.getBoundingClientRect()
        return width > 1 && right > innerWidth + 1 && left > -innerWidth && !canBeReached(element)
      })
      .slice(0, 5)
      .map(element => `${element.tagName}.${String(element.className)} "${element.textContent?.slice(0, 40)}"`)
  })
}
