/** The elements that an autocaptured event was made on. */

/** An element of a page, as PostHog tells it; what the chain does not say is null. */
interface Element {
  text: string | null;
  tag_name: string | null;
  attr_class: string[] | null;
  href: string | null;
  attr_id: string | null;
  nth_child: number | null;
  nth_of_type: number | null;
  readonly attributes: Record<string, string>;
  readonly order: number;
}

/** A name in letters, classes after dots, and attributes: `a.button.big:href="/"nth-child="1"`. */
const ELEMENT = /([^:;]*):((?:[^"=;]+="(?:[^"\\]|\\.)*")*)(?:;|$)/gy;
const ATTRIBUTE = /([^"=;]+)="((?:[^"\\]|\\.)*)"/g;

/** Returns the elements of a chain, from the innermost; as many as can be read. */
export function elementsOf(chain: string): Element[] {
  return [...chain.matchAll(ELEMENT)].map(([, head = '', attributes = ''], order) => {
    const [tag = '', ...classes] = head.split('.');
    const element: Element = {
      text: null,
      tag_name: tag === '' ? null : tag,
      attr_class: classes.length === 0 ? null : classes.filter((name) => name !== ''),
      href: null,
      attr_id: null,
      nth_child: null,
      nth_of_type: null,
      attributes: Object.create(null) as Record<string, string>,
      order,
    };
    for (const [, key = '', quoted = ''] of attributes.matchAll(ATTRIBUTE)) {
      const value = quoted.replace(/\\(["\\])/g, '$1');
      if (key === 'text' || key === 'href' || key === 'attr_id') element[key] = value;
      else if (key === 'nth-child') element.nth_child = Number.parseInt(value, 10);
      else if (key === 'nth-of-type') element.nth_of_type = Number.parseInt(value, 10);
      else element.attributes[key] = value;
    }
    return element;
  });
}
