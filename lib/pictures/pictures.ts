/** The port that makes pictures and documents of pages. */

/** What a page is made into. */
export type PictureForm = 'png' | 'pdf';

export interface Page {
  /** The whole page. Nothing of it is loaded from elsewhere, and no script of it runs. */
  readonly html: string;
  readonly form: PictureForm;
  /** How wide and, at least, how high a `png` is, in pixels of the page; default: as a small screen. */
  readonly size?: { readonly width: number; readonly height: number };
  /** Whose turn it takes: an organization. */
  readonly owner: string;
}

export interface Pictures {
  /**
   * Returns the bytes of a page in a form. Throws a 429 when too many wait, `PictureFailed` when it cannot be made, and the
   * reason of `callerLeft` when that is aborted while it waits for its turn.
   */
  make(page: Page, callerLeft?: AbortSignal): Promise<Buffer>;
}

/** A page could not be made into a picture; the message is a sentence for whoever runs the service. */
export class PictureFailed extends Error {
  override readonly name = 'PictureFailed';
}
