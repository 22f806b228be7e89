import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cameraOf, cameraText, cellAt, fitted, kept, panned, zoomedAt } from '../src/page/world/camera.ts'

const view = { width: 800, height: 600 }
const world = { width: 100, height: 100 }

test('fits the whole world into the view', () => {
  const camera = fitted(world, view)
  assert.deepEqual([camera.x, camera.y], [50, 50])
  assert.ok(camera.scale * world.height <= view.height)
})

test('keeps the cell under the pointer in its place while zooming', () => {
  const pointer = { x: 123, y: 456 }
  let camera = fitted(world, view)
  const before = cellAt(camera, pointer, view, world, true)
  for (let step = 0; step < 10; step++) camera = zoomedAt(camera, 1.25, pointer, view)
  assert.deepEqual(cellAt(camera, pointer, view, world, true), before)
})

test('never zooms beyond its limits', () => {
  const camera = fitted(world, view)
  assert.equal(zoomedAt(camera, 1e6, { x: 0, y: 0 }, view).scale, 64)
  assert.equal(zoomedAt(camera, 1e-6, { x: 0, y: 0 }, view).scale, 1 / 8)
})

test('pans without end on a torus and stays within a bounded world', () => {
  const far = panned({ x: 50, y: 50, scale: 1 }, -180, 260)
  assert.deepEqual(kept(far, world, true), { x: 30, y: 90, scale: 1 })
  assert.deepEqual(kept(far, world, false), { x: 100, y: 0, scale: 1 })
})

test('has no cell outside a bounded world', () => {
  const camera = { x: 50, y: 50, scale: 1 }
  assert.equal(cellAt(camera, { x: 0, y: 0 }, view, world, false), undefined)
  assert.deepEqual(cellAt(camera, { x: 400, y: 300 }, view, world, false), { x: 50, y: 50 })
})

test('survives a round trip through the address', () => {
  const camera = { x: 12.5, y: 80, scale: 4 }
  assert.deepEqual(cameraOf(cameraText(camera)), camera)
  for (const text of [null, '', '1,2', '1,2,x', '1,2,-4', 'NaN,1,1']) assert.equal(cameraOf(text), undefined)
})
