/** The port to those who listen for events of the service: EventBridge on AWS; one machine has none. */
export interface Events {
  /** Announces an event, `detail` as plain JSON. Throws `Transient` when it cannot now; a repetition is fine. */
  publish(type: string, detail: object): Promise<void>;
}
