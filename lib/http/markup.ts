/** Markup in which every value is escaped. It needs nothing of Node, so that pages in a browser use it too. */
import { raw, html as template } from 'hono/html';

/** Markup. Made by `html`, or by something else that has escaped what it holds, and says so with `trusted`. */
export interface Markup {
  toString(): string;
  readonly isEscaped: true;
}

type Content = Markup | string | number | null | undefined | false | readonly Content[];

/** Returns the markup of a template. Texts in it are escaped, lists are joined, null and false are nothing. */
export const html = (parts: TemplateStringsArray, ...values: Content[]): Markup => template(parts, ...values) as Markup;

/** Returns a text as markup that is escaped already. */
export const trusted = (markup: string): Markup => raw(markup);
