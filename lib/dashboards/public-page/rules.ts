/** What the address of a public page asks for. */
interface SharedAddress {
  /** Without the ending that asks for data, and without a slash at its end. */
  readonly path: string;
  readonly token: string;
  readonly type: 'scene' | 'embed';
  /** Whether the data of the page is asked for, not the page. */
  readonly isData: boolean;
}

const DATA = /\.json$/;

/** Returns whether a path asks for the data of a page, not for the page. */
export const isDataAddress = (path: string): boolean => DATA.test(path.replace(/\/$/, ''));

/** Reads the address: `/embedded/<token>` is for frames, and `<token>.json` is data. */
export function readAddress(url: string, sent: string): SharedAddress {
  const path = new URL(url).pathname.replace(/\/$/, '').replace(DATA, '');
  return {
    path,
    token: sent.replace(DATA, ''),
    type: path.split('/').at(-2) === 'embedded' ? 'embed' : 'scene',
    isData: DATA.test(sent),
  };
}
