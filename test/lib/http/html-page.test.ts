import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { reply } from '../../../lib/http/answer.ts';
import { htmlPage } from '../../../lib/http/html-page.ts';
import { html, trusted } from '../../../lib/http/markup.ts';

test('what is put into markup is text, wherever it stands', () => {
  const text = `"'<&>`;
  expect(html`<a title="${text}">${text}</a>`.toString()).toBe(
    '<a title="&quot;&#39;&lt;&amp;&gt;">&quot;&#39;&lt;&amp;&gt;</a>',
  );
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (any) => {
      const made = html`<b title="${any}">${any}</b>`.toString();
      expect(made.match(/[<>"]/g)?.join('')).toBe('<""><>');
    }),
  );
});

test('markup inside markup stays, lists are joined, and what is not there is nothing', () => {
  const inner = html`<i>${'<'}</i>`;
  expect(html`${[inner, trusted('<hr>'), null, undefined, false, 0, [inner]]}`.toString()).toBe(
    '<i>&lt;</i><hr>0<i>&lt;</i>',
  );
});

test('a page may do what it names, and nothing else', () => {
  const style = 'p { color: red }';
  const { content, mediaType, headers } = htmlPage({
    title: '<Title>',
    body: html`<p>Hi</p>`,
    style,
    script: 'go()',
    sources: { 'connect-src': "'self'", 'script-src': "'self'" },
    isFramable: true,
    headers: { 'X-Own': '1' },
  });
  const hash = (of: string) => `'sha256-${createHash('sha256').update(of).digest('base64')}'`;
  expect(mediaType).toBe('text/html; charset=utf-8');
  expect(reply({ httpMethod: 'GET' }, 200, headers, content, mediaType).headers).toEqual({
    'X-Own': '1',
    'Cache-Control': 'no-store',
    'Content-Security-Policy': [
      "default-src 'none'",
      'img-src data:',
      "connect-src 'self'",
      `script-src 'self' ${hash('go()')}`,
      `style-src ${hash(style)}`,
      "base-uri 'none'",
      "form-action 'none'",
      'frame-ancestors *',
    ].join('; '),
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'Content-Type': mediaType,
  });
  expect(content).toContain('<title>&lt;Title&gt;</title>');
  expect(content).toContain(`<style>${style}</style>`);
});
