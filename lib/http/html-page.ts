/** Pages for people: markup in which every value is escaped, and headers that let a browser do nothing else. */
import { hash } from 'node:crypto';
import { ContentAnswer } from './answer.ts';
import { html, type Markup, trusted } from './markup.ts';

interface HtmlPage {
  readonly title: string;
  /** The content of the `body` element. */
  readonly body: Markup;
  /** Additional content of the `head` element. */
  readonly head?: Markup | undefined;
  /** The page's style sheet and script, inline: allowed by their hashes. */
  readonly style?: string;
  readonly script?: string;
  /** Additional sources that a browser may load from, by directive: `{ 'connect-src': "'self'" }`. */
  readonly sources?: Readonly<Record<string, string>>;
  /** Whether it has a form that is sent to its own address. */
  readonly hasForm?: boolean;
  /** Whether other sites may show the page in a frame. */
  readonly isFramable?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

const hashOf = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`;

/** Returns a page with its headers. It loads only what it names, and tells no other site where its reader was. */
export function htmlPage(page: HtmlPage): ContentAnswer<string> {
  const { title, body, head, style, script, sources = {}, isFramable = false, hasForm = false, headers } = page;
  const inline = (name: string, text: string | undefined): string[] =>
    [sources[name] ?? '', text === undefined ? '' : hashOf(text)].filter((source) => source !== '');
  const directives: Record<string, string> = {
    'default-src': "'none'",
    'img-src': 'data:',
    ...sources,
    'style-src': inline('style-src', style).join(' ') || "'none'",
    'script-src': inline('script-src', script).join(' ') || "'none'",
    'base-uri': "'none'",
    'form-action': hasForm ? "'self'" : "'none'",
    'frame-ancestors': isFramable ? '*' : "'none'",
  };
  const markup = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>${title}</title>
${style !== undefined && html`<style>${trusted(style)}</style>`}${head}
</head>
<body>
${body}
${script !== undefined && html`<script>${trusted(script)}</script>`}
</body>
</html>
`;
  return new ContentAnswer(markup.toString(), 'text/html; charset=utf-8', {
    ...headers,
    'Content-Security-Policy': Object.entries(directives)
      .map(([name, value]) => `${name} ${value}`)
      .join('; '),
    'Referrer-Policy': 'no-referrer',
  });
}
