/** What an event tells of the device, the page and the campaign that it was sent from, of which persons get a copy. */

import { numberText } from '../../basics/raw-number.ts';

/** As PostHog lists them. What lasts: the app, and the campaign by which somebody has come. */
const LASTING = `$app_build $app_name $app_namespace $app_version
  utm_source utm_medium utm_campaign utm_content utm_name utm_term
  gclid gad_source gclsrc dclid gbraid wbraid fbclid msclkid twclid li_fat_id
  mc_cid igshid ttclid rdt_cid irclid _kx epik qclid sccid`;

/** And what differs from page to page, or from device to device. */
const PASSING = `$browser $browser_version $device_type $os $os_version $raw_user_agent
  $current_url $pathname $referrer $referring_domain
  $screen_height $screen_width $viewport_height $viewport_width`;

/** The systems of servers are no person's. */
const OF_SERVERS: ReadonlySet<string> = new Set(['$os', '$os_version']);

const NAMES = { lasting: LASTING.split(/\s+/), passing: PASSING.split(/\s+/) };

/**
 * No value of these is longer, in characters: browsers and servers take addresses of about so many. What is longer tells of
 * no sender, and each change of the person would write it again.
 */
const LONGEST_VALUE = 2_048;

type Values = Readonly<Record<string, unknown>>;

interface Sender {
  readonly lasting: Values;
  readonly passing: Values;
}

/** Returns what the properties of an event tell of its sender: text that is not long, numbers, booleans and null. */
export function senderIn(properties: Values): Sender {
  const isServer = properties['$is_server'] === true;
  const take = (names: readonly string[]): Values => {
    const taken: Record<string, unknown> = {};
    for (const name of names) {
      const value = valueOf(properties, name);
      if (canTell(value) && !(isServer && OF_SERVERS.has(name))) taken[name] = value;
    }
    return taken;
  };
  return { lasting: take(NAMES.lasting), passing: take(NAMES.passing) };
}

/** Some SDKs call the system `$os_name`. */
const valueOf = (properties: Values, name: string): unknown =>
  name === '$os' ? (properties[name] ?? properties['$os_name']) : properties[name];

const canTell = (value: unknown): boolean =>
  typeof value === 'string'
    ? value.length <= LONGEST_VALUE
    : value === null || typeof value === 'boolean' || (numberText(value)?.length ?? Infinity) <= LONGEST_VALUE;

/** Returns values of a sender by the names under which a person keeps the first of each; null is nobody's first. */
export const firstsOf = (values: Values): Values =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      value === null ? [] : [[`$initial_${name.replace('$', '')}`, value]],
    ),
  );
