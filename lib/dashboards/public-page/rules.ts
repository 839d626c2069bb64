/** What the address of a public page asks for. */
export interface SharedAddress {
  /** Without the ending that asks for data, and without a slash at its end. */
  readonly path: string;
  readonly token: string;
  readonly type: 'scene' | 'embed';
  /** What is asked for: the page, its data, or the numbers of a tile. */
  readonly form: 'page' | 'json' | 'csv' | 'png' | 'pdf';
}

const ENDING = /\.(json|csv|png|pdf)$/;

/** Returns whether a path asks for something else than a page. */
export const isDataAddress = (path: string): boolean => ENDING.test(path.replace(/\/$/, ''));

/** Reads the address: `/embedded/<token>` is for frames, `<token>.json` is data, `<token>.csv` the numbers of a tile. */
export function readAddress(url: string, sent: string): SharedAddress {
  const path = new URL(url).pathname.replace(/\/$/, '').replace(ENDING, '');
  return {
    path,
    token: sent.replace(ENDING, ''),
    type: path.split('/').at(-2) === 'embedded' ? 'embed' : 'scene',
    form: (ENDING.exec(sent)?.[1] ?? 'page') as SharedAddress['form'],
  };
}
