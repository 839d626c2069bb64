import { withoutSecret } from '../../../lib/basics/without-secret.ts';

describe('a secret is struck out of a text', () => {
  const SECRET = 'a/b c"d+é&\u{1f511}';
  const asHtml = (text: string) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
  const asAscii = (text: string) =>
    text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const json = JSON.stringify(SECRET);

  test.each<[string, string]>([
    ['as it is', SECRET],
    ['in JSON', json],
    ['in JSON with escaped slashes', json.replaceAll('/', '\\/')],
    ['in JSON of ASCII', asAscii(json)],
    ['in JSON of ASCII with capitals', asAscii(json).replace(/u\w{4}/g, (code) => `u${code.slice(1).toUpperCase()}`)],
    ['in JSON within JSON', JSON.stringify(JSON.stringify({ api_key: SECRET }))],
    ['in an address', encodeURIComponent(SECRET)],
    ['in an address with small letters', encodeURIComponent(SECRET).toLowerCase()],
    ['in a form', new URLSearchParams({ token: SECRET }).toString()],
    ['in HTML', asHtml(SECRET)],
    ['in HTML by numbers', SECRET.replace(/[^\w]/gu, (one) => `&#${one.codePointAt(0)};`)],
    ['in HTML by numbers of base 16', SECRET.replace(/[^\w]/gu, (one) => `&#x${one.codePointAt(0)?.toString(16)};`)],
  ])('%s', (_, written) => {
    const text = withoutSecret(`The key ${written} is unknown, 50% of é \\"known\\" ones: ${written}`, SECRET);
    expect(text).toMatch(/^The key \S*\*\*\*\S* is unknown, 50% of é \\"known\\" ones: \S*\*\*\*\S*$/);
    expect(text).not.toMatch(/[a-c]\S*c|d/i);
  });

  test.each(['k\\y', 'a\\u0041b', 'a%41b', 'a&amp;b', 'a+b', '10%b', '\ud800x', 'a\nb'])(
    'that looks as if it were escaped itself: %j',
    (secret) => {
      for (const written of [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret.toWellFormed())])
        expect(withoutSecret(`key: ${written}!`, secret)).toBe('key: ***!');
    },
  );

  test('and nothing else is', () => {
    const text = 'Unknown key&nbsp;phc_1&#99999999; %zz \\u12 \\ud800 +1 🔑 &#0;';
    expect(withoutSecret(text, 'phc_2')).toBe(text);
  });

  test('in a moment, whatever both are', () => {
    const begun = performance.now();
    for (const one of ['\\', '\\u005c', '%25', '&amp;', '\\\\', 'a'])
      withoutSecret(one.repeat(16_384 / one.length), `${one.repeat(500)}!`);
    expect(performance.now() - begun).toBeLessThan(2_000);
  });
});
