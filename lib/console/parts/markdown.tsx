import { Typography } from '@mantine/core';
import MarkdownIt from 'markdown-it';
import { useMemo } from 'react';

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
  // A tile that is dragged draws all others at each step.
  const markup = useMemo(() => ({ __html: markdown.render(text) }), [text]);
  return (
    <Typography>
      <div dangerouslySetInnerHTML={markup} />
    </Typography>
  );
}
