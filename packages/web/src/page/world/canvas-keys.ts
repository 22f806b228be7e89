import { addCommands } from '../keys.ts'
import type { Spot } from './spot.ts'
import type { Stage } from './stage.ts'

const ZOOM_STEP = 1.25
const PAN_STEP = 60

/** Keys of the canvas. */
export function addCanvasKeys(stage: Stage, start: () => Spot | undefined): () => void {
  return addCommands('World', {
    '+': ['Zoom in', () => stage.zoom(ZOOM_STEP)],
    '-': ['Zoom out', () => stage.zoom(1 / ZOOM_STEP)],
    '0': ['Fit the world', () => stage.fit()],
    w: ['Pan up', () => stage.pan(0, PAN_STEP)],
    a: ['Pan left', () => stage.pan(PAN_STEP, 0)],
    s: ['Pan down', () => stage.pan(0, -PAN_STEP)],
    d: ['Pan right', () => stage.pan(-PAN_STEP, 0)],
    i: ['Cell cursor: arrows move it, Enter selects', () => stage.toggleCursor(start())],
    m: [
      'Minimap',
      () => {
        stage.showsMinimap.value = !stage.showsMinimap.value
      },
    ],
  })
}

/** While the cell cursor is on, the arrows move it instead of the time. */
export function addCursorKeys(stage: Stage, select: (cell: Spot) => void): () => void {
  return addCommands('Cell cursor', {
    ArrowLeft: ['One cell left', () => stage.moveCursor(-1, 0)],
    ArrowRight: ['One cell right', () => stage.moveCursor(1, 0)],
    ArrowUp: ['One cell up', () => stage.moveCursor(0, -1)],
    ArrowDown: ['One cell down', () => stage.moveCursor(0, 1)],
    'Shift+ArrowLeft': ['Ten cells left', () => stage.moveCursor(-10, 0)],
    'Shift+ArrowRight': ['Ten cells right', () => stage.moveCursor(10, 0)],
    'Shift+ArrowUp': ['Ten cells up', () => stage.moveCursor(0, -10)],
    'Shift+ArrowDown': ['Ten cells down', () => stage.moveCursor(0, 10)],
    Enter: [
      'Select what is there',
      () => {
        const cell = stage.cursor.peek()
        if (cell !== undefined) select(cell)
      },
    ],
    Escape: ['Put the cell cursor away', () => stage.toggleCursor(undefined)],
  })
}
