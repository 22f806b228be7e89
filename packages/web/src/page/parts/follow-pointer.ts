type Followed = { moved(clientX: number): void; ended(clientX: number, isCancelled: boolean): void }

/** Follows the pointer that was pressed, wherever it goes, until it is released. */
export function follow(event: PointerEvent, { moved, ended }: Followed): void {
  const element = event.currentTarget as HTMLElement
  element.setPointerCapture(event.pointerId)
  const move = ({ clientX }: PointerEvent): void => moved(clientX)
  const end = ({ clientX, type }: PointerEvent): void => {
    element.removeEventListener('pointermove', move)
    element.removeEventListener('pointerup', end)
    element.removeEventListener('pointercancel', end)
    ended(clientX, type !== 'pointerup')
  }
  element.addEventListener('pointermove', move)
  element.addEventListener('pointerup', end)
  element.addEventListener('pointercancel', end)
}
