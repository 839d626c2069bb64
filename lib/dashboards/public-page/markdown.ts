import { setImmediate as turn } from 'node:timers/promises';
import MarkdownIt from 'markdown-it';
import { Recent } from '../../basics/recent.ts';

/** Links in somebody's text neither tell other sites where they stood nor count for search engines. */
const LINK_RELATION = 'nofollow noopener noreferrer ugc';

/**
 * Markdown as markup that is safe to show to anybody: markup in the text is shown as text, links to scripts are no
 * links, and an image is its alternative text, so that nothing is loaded. A heading stands one level lower, below the
 * page's; cells of tables have no styles of their own, which the page's policy would refuse.
 */
const markdown = new MarkdownIt({ html: false });

markdown.core.ruler.push('fit-into-page', ({ tokens }) => {
  for (const token of tokens) {
    if (token.type === 'th_open' || token.type === 'td_open') token.attrs = null;
    if (token.type === 'heading_open' || token.type === 'heading_close') {
      token.tag = `h${Math.min(Number(token.tag.slice(1)) + 1, 6)}`;
    }
  }
});

markdown.renderer.rules['link_open'] = (tokens, at, options, _, renderer) => {
  tokens[at]?.attrSet('rel', LINK_RELATION);
  return renderer.renderToken(tokens, at, options);
};

markdown.renderer.rules['image'] = (tokens, at) => markdown.utils.escapeHtml(tokens[at]?.content ?? '');

/** Returns Markdown as safe markup, as `markdown` says. */
export const markdownMarkup = (text: string): string => markdown.render(text);

/** The markup of texts that were shown lately: whoever has the link of a page may ask for it again and again. */
const MAX_CHARACTERS = 8_000_000;
const recent = new Recent<string>(MAX_CHARACTERS, ({ length }) => length);

/**
 * Returns texts with their markup. One of brackets alone takes milliseconds, and a page has hundreds: all others have
 * their turn before each.
 */
export async function markdownMarkups(texts: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const markups = new Map<string, string>();
  for (const text of texts) {
    let markup = recent.get(text);
    if (markup === undefined) {
      await turn();
      markup = markdownMarkup(text);
      recent.set(text, markup);
    }
    markups.set(text, markup);
  }
  return markups;
}
