/** The port to whoever listens for what happens in the service: EventBridge on AWS; one machine has none. */
export interface Events {
  /** Announces one event, `detail` as plain JSON; `Transient` when it cannot be done now. May be announced twice. */
  publish(type: string, detail: object): Promise<void>;
}
