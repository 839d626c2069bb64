import { invalid } from '../errors.ts';

const NAME_LENGTH = 64;
const SLUG_LENGTH = 48;

/** The name, trimmed; 400 when it is blank or too long (counted in code points). */
export function checkName(name: string): string {
  const trimmed = name.trim();
  if (trimmed === '') invalid('name', 'This field may not be blank.', 'blank');
  if (Array.from(trimmed).length > NAME_LENGTH) {
    invalid('name', `Ensure this field has no more than ${NAME_LENGTH} characters.`, 'max_length');
  }
  return trimmed;
}

/**
 * The slug of a name: lower-case ASCII letters, digits, `_` and `-`, at most 48 characters, never empty. With a
 * `tail` (four letters, after a clash): the first 43 characters, `-` and the tail.
 */
export function slugOf(name: string, tail?: string): string {
  const words = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9_\s-]/g, '')
    .replace(/[-\s]+/g, '-')
    .replace(/^[-_]+|[-_]+$/g, '');
  const slug = words === '' ? 'organization' : words;
  return tail === undefined ? slug.slice(0, SLUG_LENGTH) : `${slug.slice(0, SLUG_LENGTH - 1 - tail.length)}-${tail}`;
}
