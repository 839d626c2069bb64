import { setImmediate as turn } from 'node:timers/promises';
import * as fc from 'fast-check';
import { markdownMarkup, markdownMarkups } from '../../../../lib/dashboards/public-page/markdown.ts';
import { propertyRuns } from '../../../support/property-runs.ts';

test.each([
  ['# One', '<h2>One</h2>\n'],
  ['###### Six', '<h6>Six</h6>\n'],
  ['<b>no</b>', '<p>&lt;b&gt;no&lt;/b&gt;</p>\n'],
  ['![a <pixel>](https://x.example/p.png "t")', '<p>a &lt;pixel&gt;</p>\n'],
  ['[x](javascript:alert(1))', '<p>[x](javascript:alert(1))</p>\n'],
  ['[x](JaVaScRiPt:alert(1))', '<p>[x](JaVaScRiPt:alert(1))</p>\n'],
  ['[x](data:text/html,hi)', '<p>[x](data:text/html,hi)</p>\n'],
  ['[x](&#106;avascript:alert(1))', '<p>[x](javascript:alert(1))</p>\n'],
  [
    '[x](https://x.example "t")',
    '<p><a href="https://x.example" title="t" rel="nofollow noopener noreferrer ugc">x</a></p>\n',
  ],
  ['https://x.example', '<p>https://x.example</p>\n'],
  [
    '```js"><script>\n</code>\n```',
    '<pre><code class="language-js&quot;&gt;&lt;script&gt;">&lt;/code&gt;\n</code></pre>\n',
  ],
])('%j is shown as %j', (text, markup) => {
  expect(markdownMarkup(text)).toBe(markup);
});

test('a list of many levels is shown to its last one', () => {
  const levels = Array.from({ length: 20 }, (_, level) => `${'  '.repeat(level)}* level ${level + 1}`);
  expect(markdownMarkup(levels.join('\n'))).toContain('level 20');
});

/** Elements that markdown makes, each with no more than these attributes. */
const TAG =
  /^<\/?(p|h[2-6]|em|strong|s|code|pre|blockquote|ul|ol|li|hr|br|table|thead|tbody|tr|th|td|a)( (href|title|rel|class|start)="[^"<>]*")*>$/;

test('whatever is written, only harmless markup comes of it, and it is quick', () => {
  const piece = fc.constantFrom(
    '<script>',
    '</p>',
    '<img src=x onerror=alert(1)>',
    '[a](',
    '](',
    '![',
    'javascript:',
    ')',
    '"',
    "'",
    '`',
    '```\n',
    '\n\n',
    '> ',
    '* ',
    '| a |\n|:-:|\n',
    '&lt;',
    '&#x3c;',
    '<!--',
    '<a href="',
    '\\',
    '**',
    '_',
    '# ',
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(piece, fc.string()), { maxLength: 40 }), (pieces) => {
      for (const tag of markdownMarkup(pieces.join('')).match(/<[^>]*>?/g) ?? []) {
        expect(tag).toMatch(TAG);
        expect(tag).not.toMatch(/href="\s*(javascript|vbscript|data|file):/i);
      }
    }),
    { numRuns: propertyRuns(2000) },
  );
  const began = process.cpuUsage();
  for (const unit of ['[', '![', '*a', '`', '<', '> ', '\\', '[a](', '&', '| ', '~~'])
    markdownMarkup(unit.repeat(4000 / unit.length));
  // Of processor time, in microseconds.
  expect(process.cpuUsage(began).user).toBeLessThan(3_000_000);
});

test('texts of a page that take long are read between the turns of others, and once', async () => {
  const texts = Array.from({ length: 20 }, (_, at) => `${at}${'![['.repeat(1000)}`);
  const turnsOf = async (): Promise<number> => {
    const shown = markdownMarkups(texts);
    let turns = 0;
    while (await Promise.race([shown.then(() => false), turn(true)])) turns += 1;
    expect([...(await shown).keys()]).toEqual(texts);
    return turns;
  };
  expect(await turnsOf()).toBeGreaterThan(texts.length / 2);
  expect(await turnsOf()).toBeLessThan(3);
});
