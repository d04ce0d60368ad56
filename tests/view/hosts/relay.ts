// What both hosts share: the way to a server that speaks over standard input and output, by a relay of the test's.

export interface Told {
  /** What the view had the model told. */
  context: string[];
  tools: { name: string; _meta?: unknown }[];
}

export interface Started {
  told: Told;
  call(name: string, given: Record<string, unknown>): Promise<unknown>;
}

/** Lines to the server go by POST; those that it says come as events. */
export class RelayTransport {
  onmessage?: (message: unknown) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  private events: EventSource | undefined;

  async start(): Promise<void> {
    const events = new EventSource("/relay");
    this.events = events;
    events.onmessage = ({ data }: MessageEvent<string>) => this.onmessage?.(JSON.parse(data));
    await new Promise((done) => (events.onopen = done));
  }
  async send(message: unknown): Promise<void> {
    await fetch("/relay", { method: "POST", body: JSON.stringify(message) });
  }
  async close(): Promise<void> {
    this.events?.close();
    this.onclose?.();
  }
}
