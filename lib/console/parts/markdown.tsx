import { Typography } from '@mantine/core';
import MarkdownIt from 'markdown-it';

/** Markup in the text is shown as text, links to scripts are no links, and images are not loaded. */
const markdown = new MarkdownIt({ html: false }).disable('image');

markdown.renderer.rules['link_open'] = (tokens, at, options, _, renderer) => {
  tokens[at]?.attrSet('rel', 'nofollow noopener noreferrer');
  tokens[at]?.attrSet('target', '_blank');
  return renderer.renderToken(tokens, at, options);
};
// Alignments of columns would be styles, which the page's policy refuses.
markdown.core.ruler.push('without-styles', ({ tokens }) => {
  for (const token of tokens) if (token.type === 'th_open' || token.type === 'td_open') token.attrs = null;
});

/** Somebody's text as Markdown. */
export function Markdown({ text }: { readonly text: string }) {
  return (
    <Typography>
      <div dangerouslySetInnerHTML={{ __html: markdown.render(text) }} />
    </Typography>
  );
}
