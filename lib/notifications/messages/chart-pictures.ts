/** Pictures of charts for mails, made by the browser of the machine when a message is sent. */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { getOrMake } from '../../basics/maps.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../basics/units.ts';
import { CHART_STYLE } from '../../charts/style.ts';
import { html, trusted } from '../../http/markup.ts';
import { type Page, PictureFailed, type Pictures } from '../../pictures/pictures.ts';
import type { Context } from '../../ports/context.ts';
import { Failure, Transient } from '../../ports/errors.ts';
import { lineOf } from '../../workers/turns.ts';
import type { Message } from './message.ts';

/** As mail programs show it, in pixels; a picture has two dots for each. */
export const PICTURE_WIDTH = 600;

/** The pictures of a message take so long at most, the waiting for others' included. */
const MOST_MS = 30 * SECOND_MS;
/** A message waits so long at most for pictures, where others are being made. */
const PATIENCE_MS = 10 * MINUTE_MS;
/** A message that was not taken for so long goes without pictures: none is made again and again. */
const MAX_AGE_MS = HOUR_MS;

/** Returns the markup of a chart as a message keeps it: in few bytes of text. */
export const packedFigure = (figure: string): string => deflateRawSync(figure).toString('base64');

const STYLE = `:root { --tile: #fff; --text: #1b1f24; --soft: #555c66; --line: #d4d8de; }
body { margin: 0; padding: 8px; background: var(--tile); color: var(--text); font: 1rem/1.5 system-ui, sans-serif;
  overflow-wrap: anywhere; }
details { display: none; }
${CHART_STYLE}`;

const pageOf = (figure: string): string =>
  html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Chart</title><style>${trusted(STYLE)}</style></head>
<body>${trusted(inflateRawSync(Buffer.from(figure, 'base64')).toString())}</body>
</html>
`.toString();

/** Messages of a process ask for one picture at a time, so that those whom a page waits for have their turn. */
const lines = new WeakMap<Pictures, ReturnType<typeof lineOf>>();

/**
 * Returns the pictures of a message's insights, by their places; a picture that cannot be made is left out. Throws
 * `Transient` for some minutes while too many others are being made.
 */
export async function chartPictures(
  { pictures, clock }: Pick<Context, 'pictures' | 'clock'>,
  { organization, at: since, insights }: Message,
): Promise<ReadonlyMap<number, Buffer>> {
  const made = new Map<number, Buffer>();
  const figures = insights.flatMap(({ figure }, at) => (figure === undefined ? [] : [[at, figure] as const]));
  const age = clock() - since;
  if (pictures === null || figures.length === 0 || age > MAX_AGE_MS) return made;
  const { promise: late, reject } = Promise.withResolvers<never>();
  late.catch(() => {});
  const left = new AbortController();
  left.signal.addEventListener('abort', () => reject(left.signal.reason as Error));
  const timer = setTimeout(() => left.abort(new PicturesBusy()), MOST_MS);
  try {
    for (const [at, figure] of figures) {
      const size = { width: PICTURE_WIDTH, height: 1 };
      const page: Page = { html: pageOf(figure), form: 'png', owner: organization, size };
      const making = getOrMake(lines, pictures, () => lineOf(1))(() => pictures.make(page), left.signal);
      const bytes = await Promise.race([making, late]).catch(unlessBusy);
      if (bytes !== undefined) made.set(at, bytes);
    }
  } catch (error) {
    if (!(error instanceof PicturesBusy)) throw error;
    if (age < PATIENCE_MS) throw new Transient('Its pictures wait for others, which are being made.', { cause: error });
  } finally {
    clearTimeout(timer);
  }
  return made;
}

/** Too many pictures are being made. */
class PicturesBusy extends Error {
  override readonly name = 'PicturesBusy';
}

/** Returns nothing for a picture that cannot be made. Throws `PicturesBusy` for one that may be made later. */
function unlessBusy(error: unknown): undefined {
  if (error instanceof PictureFailed) return undefined;
  throw error instanceof Failure ? new PicturesBusy(error.message) : error;
}
