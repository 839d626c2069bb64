/** What an event tells of the device, the page and the campaign that it was sent from, of which persons get a copy. */

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

/** Each with the name under which a person keeps the first value. */
const named = (names: string) =>
  names.split(/\s+/).map((name) => [name, `$initial_${name.replace('$', '')}`] as const satisfies readonly string[]);
const NAMES = { lasting: named(LASTING), passing: named(PASSING) };

type Values = Readonly<Record<string, unknown>>;

interface Sender {
  readonly lasting: Values;
  readonly passing: Values;
  /** The values of both that are not null, by the names of first values. */
  readonly initial: Values;
}

/** Returns what the properties of an event tell of its sender. */
export function senderIn(properties: Values): Sender {
  const initial: Record<string, unknown> = {};
  const isServer = properties['$is_server'] === true;
  const take = (names: typeof NAMES.lasting): Values => {
    const taken: Record<string, unknown> = {};
    for (const [name, first] of names) {
      const value = valueOf(properties, name);
      if (value === undefined || (isServer && OF_SERVERS.has(name))) continue;
      taken[name] = value;
      if (value !== null) initial[first] = value;
    }
    return taken;
  };
  return { lasting: take(NAMES.lasting), passing: take(NAMES.passing), initial };
}

/** Some SDKs call the system `$os_name`. */
const valueOf = (properties: Values, name: string): unknown =>
  name === '$os' ? (properties[name] ?? properties['$os_name']) : properties[name];
