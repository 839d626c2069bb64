/** Functions of texts: patterns, parts, addresses. */
import { allAs, argument, constantText, integerConstant, operation, truth } from '../build.ts';
import { type Expression } from '../expression.ts';
import { checkedLike, checkedPattern, checkedReplacement, quotedPattern, unspecial } from '../patterns.ts';
import { refuse } from '../refusal.ts';
import { type Build, constantOf, exactly, type FunctionSpec, given } from './spec.ts';

/** A text in small letters as both engines make them: each character one, whatever stands around it. */
const lowered = (text: string): string => Array.from(text, (one) => Array.from(one.toLowerCase())[0]).join('');

export function like(
  value: Expression,
  pattern: Expression,
  name: string,
  { anyCase = false, not = false } = {},
): Expression {
  const source = constantText(pattern) ?? refuse(`The pattern of ${name} must be a text constant`);
  const subject = argument(value, 'text', name);
  const found = operation('like', [anyCase ? operation('lower', [subject]) : subject], {
    like: checkedLike(anyCase ? lowered(source) : source),
  });
  return not ? operation('not', [found]) : found;
}

/** The text of a pattern. PostHog writes `=~*` as one of two parts: `match(event, concat('(?i)', 'a'))`. */
function patternText(pattern: Expression): string | undefined {
  if (!('operator' in pattern) || pattern.operator !== 'concat') return constantText(pattern);
  const parts = pattern.of.map(constantText);
  return parts.includes(undefined) ? undefined : parts.join('');
}

/** Whether a text matches a pattern; null where it is missing. */
export function matched(value: Expression, pattern: Expression, name: string, anyCase = false): Expression {
  const source = patternText(pattern) ?? refuse(`The pattern of ${name} must be a text constant`);
  const checked = checkedPattern(anyCase ? `(?i)${source}` : source).pattern;
  return operation('matches', [argument(value, 'text', name)], { pattern: checked });
}

/** Whether a text matches a pattern, or does not; what is missing matches nothing. */
export function matches(
  value: Expression,
  pattern: Expression,
  name: string,
  { anyCase = false, not = false } = {},
): Expression {
  const found = operation('coalesce', [matched(value, pattern, name, anyCase), truth(false)]);
  return not ? operation('not', [found]) : found;
}

export const likeness = (options: { anyCase?: boolean; not?: boolean }): FunctionSpec =>
  exactly(2, (of, name) => like(given(of, 0), given(of, 1), name, options));

export const replacing = (operator: 'replace_pattern' | 'replace_pattern_once', isLiteral: boolean): FunctionSpec =>
  exactly(3, (of, name) => {
    const [subject, by] = [argument(given(of, 0), 'text', name), given(of, 2)];
    const source = constantOf(of, 1, name);
    if (source === '') refuse(`Argument 2 of ${name} must not be empty`);
    if (isLiteral && operator === 'replace_pattern')
      return operation('replace', [subject, argument(by, 'text', name)], { text: source });
    const { pattern, groups, least } = isLiteral
      ? { pattern: quotedPattern(source), groups: 0, least: source.length }
      : checkedPattern(source);
    const replacement = constantOf(of, 2, name);
    return operation(operator, [subject], {
      pattern,
      least,
      replacement: isLiteral ? [replacement] : checkedReplacement(replacement, groups),
    });
  });

/** `substring`, `left`, `right`: characters, counted from 1, from the end where negative. */
export const substring: Build = (of, name) => {
  const [text, ...places] = of;
  const args = [argument(text as Expression, 'text', name), ...allAs(places, 'integer', name)];
  return operation(of.length === 2 ? 'substring_from' : 'substring', args);
};

/** The last characters of a text, so many; of fewer all. */
export const right: Build = (of, name) => {
  const [text, count] = [argument(given(of, 0), 'text', name), argument(given(of, 1), 'integer', name)];
  const first = integerConstant(1);
  const place = operation('add', [operation('subtract', [operation('length', [text]), count]), first]);
  return operation('substring_from', [text, operation('if', [operation('less', [place, first]), first, place])]);
};

/** A text without the first match. */
export const without = (text: Expression, pattern: string, least: number): Expression =>
  operation('replace_pattern_once', [text], { pattern, least, replacement: [''] });

/** No character of a host, and what stands around one in an address. */
const NO_HOST = String.raw` \t<>%{}|\\^~\[\];=&@:/?#`;

/** The host of an address, with a dot in it; else an empty text. What is before the host is first taken away. */
export const domain: Build = (of, name) => {
  const pattern = String.raw`^(?:[a-zA-Z0-9+.-]+:)?//(?:[^${NO_HOST}]*:[^${NO_HOST}]*@)?`;
  const address = argument(given(of, 0), 'text', name);
  const rest = without(address, pattern, 2);
  const host = String.raw`^(?:[^${NO_HOST}]*@)?([^${NO_HOST}]*\.[^${NO_HOST}.]+)(?:[:/?#]|\z)`;
  return operation('extract', [rest], { pattern: host, group: 1 });
};

/** What an address has as a parameter of this name, as it is written, behind `?` or `#`; else an empty text. */
export const parameterOf: Build = (of, name) => {
  const pattern = `(?s)^[^?#]*[?#](?:.*?[?#&])??${unspecial(constantOf(of, 1, name))}=([^&#]*)`;
  return operation('extract', [argument(given(of, 0), 'text', name)], { pattern, group: 1 });
};

export function trimming(side: 'both' | 'left' | 'right'): FunctionSpec {
  return exactly(1, (of, name) => operation('trim', [argument(given(of, 0), 'text', name)], { side }));
}

export function splitting(longest: number): FunctionSpec {
  return exactly(2, (of, name) => {
    const by = constantOf(of, 0, name);
    if (by === '' || Array.from(by).length > longest)
      refuse(`Argument 1 of ${name} must be 1 to ${longest} characters long`);
    return operation('split', [argument(given(of, 1), 'text', name)], { text: by });
  });
}
