import MarkdownIt from 'markdown-it';

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
