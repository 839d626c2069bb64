/**
 * Returns a text without a secret (not empty) in it: as it is, inside a text of JSON, as a part of an address, or with any of
 * its characters escaped as these, forms or HTML may do.
 */
export function withoutSecret(text: string, secret: string): string {
  const forms = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret.toWellFormed())];
  return withoutEscaped(
    forms.reduce((rest, form) => rest.replaceAll(form, '***'), text),
    secret,
  );
}

/** A character as JSON, an address or HTML escapes it, or itself. */
const WRITTEN =
  /(?<json>\\ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|\\u[\da-f]{4})|%(?<byte>[\da-f]{2})|&(?:(?<name>amp|lt|gt|quot|apos)|#(?<code>\d{1,7}|x[\da-f]{1,6}));|[^]/giu;

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/**
 * Strikes a secret out by what the text stands for, unescaped once: in time that goes by the lengths, whatever both are.
 * Backslashes are left aside, as before a quote, and `+` is a blank, as in forms.
 */
function withoutEscaped(text: string, secret: string): string {
  const wanted = comparable(Buffer.from(secret));
  if (wanted === '') return text;
  let stands = '';
  /** Where what stands for each byte begins in the text, and ends. */
  const places: [from: number, to: number][] = [];
  for (const found of text.matchAll(WRITTEN)) {
    const bytes = comparable(meant(found));
    for (let n = 0; n < bytes.length; n += 1) places.push([found.index, found.index + found[0].length]);
    stands += bytes;
  }
  let [rest, end] = ['', 0];
  for (let at = stands.indexOf(wanted); at >= 0; at = stands.indexOf(wanted, at + wanted.length)) {
    rest += `${text.slice(end, places[at]?.[0])}***`;
    end = places[at + wanted.length - 1]?.[1] ?? end;
  }
  return rest + text.slice(end);
}

/** Returns the UTF-8 of the character that is meant; of a byte of an address that byte. */
function meant({ 0: written, groups: { json, byte, name, code } = {} }: RegExpMatchArray): Buffer {
  if (byte !== undefined) return Buffer.from(byte, 'hex');
  if (json !== undefined) return Buffer.from(JSON.parse(`"${json.toLowerCase()}"`) as string);
  const point = Number(code?.replace(/^x/i, '0x'));
  if (point <= 0x10ffff) return Buffer.from(String.fromCodePoint(point));
  return Buffer.from(NAMED[name?.toLowerCase() ?? ''] ?? written);
}

/** Returns bytes as a text of one character each, by which those are found. */
const comparable = (bytes: Buffer): string => bytes.toString('latin1').replace(/\\/g, '').replaceAll('+', ' ');
