import { readTile, type TilePixels, type TilePlan } from '@tidemark/pipeline'
import { Type } from 'typebox'
import { asBuffer, sendBytes } from '../answers/encoded.ts'
import { encodePng } from '../answers/png.ts'
import type { Context } from '../context.ts'
import { AS_YOU_HAVE_IT, type Route, route } from '../route.ts'
import { isNotModified } from '../runs/etag.ts'
import { foundTick } from '../runs/missing-tick.ts'
import type { OpenRun } from '../runs/run-indexes.ts'
import { colourNumbers, colourTypes, colourValues, type Picture, type Theme } from '../runs/tile-colours.ts'
import { planOf, TileQuery, tileHeaders } from '../runs/tile-request.ts'
import { strict } from '../schemas/common.ts'
import { TickParams } from '../schemas/runs.ts'
import { Timing } from '../timing.ts'
import { RUN } from './runs.ts'

const tag = 'runs'
const TILE_TYPE = 'application/octet-stream'
const PNG_TYPE = 'image/png'
const TILE = `${RUN}/environment/:tick/tile`

export const tileRoutes = (context: Context): Route[] => [
  route({
    method: 'GET',
    path: TILE,
    tag,
    name: 'tile',
    role: 'read',
    summary: 'Get a tick or a region of it as pixels',
    says:
      'Row by row, without a header; 0 is an empty pixel. The header Tidemark-Element says what a pixel is: u8 (plane ' +
      'type; 255 stands for 255 and more), i32 (value) or u32 (owner, lineage), the latter two with the lowest byte ' +
      'first. Tidemark-Size is the width and height. Compressed with zstd, br or gzip by Accept-Encoding.',
    params: TickParams,
    query: strict(TileQuery),
    answers: {
      200: { says: 'The pixels', content: { [TILE_TYPE]: Type.String({ format: 'binary' }) } },
      304: AS_YOU_HAVE_IT,
    },
    problems: [413],
    raw: true,
    large: true,
    async handle({ params: { runId, tick }, query, request, reply }) {
      const timing = new Timing()
      return await context.runs.use(runId, async run => {
        const { plan } = await planOf(run, query, context.settings.limits)
        const pixels = await pixelsOf(context, run, tick, plan)
        timing.mark('make')
        if (await isNotModified(run, { index: indexOf(plan), tick, form: 'tile' }, request, reply))
          return reply.code(304).send()
        reply.headers({ ...tileHeaders(plan), 'content-type': TILE_TYPE, 'server-timing': timing.header() })
        return await sendBytes(reply, asBuffer(pixels), request.headers['accept-encoding'])
      })
    },
  }),

  route({
    method: 'GET',
    path: `${TILE}.png`,
    tag,
    name: 'tilePicture',
    role: 'read',
    summary: 'Get a tick or a region of it as a picture, for thumbnails',
    says: 'Keeps the aspect of the region. Empty pixels are transparent.',
    params: TickParams,
    query: strict({
      ...TileQuery,
      theme: Type.Optional(
        Type.Enum(['dark', 'light'], { default: 'dark', description: 'Ground that it is shown on.' }),
      ),
    }),
    answers: {
      200: { says: 'The picture', content: { [PNG_TYPE]: Type.String({ format: 'binary' }) } },
      304: AS_YOU_HAVE_IT,
    },
    problems: [413],
    raw: true,
    large: true,
    async handle({ params: { runId, tick }, query, request, reply }) {
      return await context.runs.use(runId, async run => {
        const { plan, metadata } = await planOf(run, query, context.settings.limits, true)
        const pixels = await pixelsOf(context, run, tick, plan)
        if (await isNotModified(run, { index: indexOf(plan), tick, form: 'png' }, request, reply))
          return reply.code(304).send()
        const theme = (query.theme ?? 'dark') as Theme
        const picture = coloured(pixels, plan, metadata.moleculeTypes, theme)
        const png = await encodePng(picture.pixels, plan.x.pixels, plan.y.pixels, picture.palette)
        return reply.header('content-type', PNG_TYPE).send(png)
      })
    },
  }),
]

async function pixelsOf(context: Context, run: OpenRun, tick: number, plan: TilePlan): Promise<TilePixels> {
  return await foundTick(run, tick, await readTile(run.index, tick, plan, context.tileMakers))
}

/** A picture of lineages is complete only if the organisms are indexed too. */
const indexOf = ({ plane }: TilePlan) => (plane === 'lineage' ? (['environment', 'organisms'] as const) : 'environment')

function coloured(pixels: TilePixels, { plane }: TilePlan, names: readonly string[], theme: Theme): Picture {
  if (plane === 'type') return colourTypes(pixels, names, theme)
  return plane === 'value' ? colourValues(pixels) : colourNumbers(pixels)
}
