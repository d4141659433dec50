/** Files of settings, as people write them. */
export const configSeeds: readonly Buffer[] = [
  `data: ./data
http:
  host: 0.0.0.0
  port: 8600
  allowedOrigins: ["https://app.example"]
mqtt:
  enabled: true
  port: 1883
log:
  level: info
devices:
  admission: list
`,
  `access:
  default: allow
  urlHosts: [files.example, "*.cdn.example", "http://192.168.1.5:8080"]
  rules:
    - { effect: deny, device: desk, tool: self.reboot }
    - effect: confirm
      tag: office
      tool: "self.*"
      args: { volume: { min: 80 }, url: { pattern: "http://*" }, "a.b": [1, null, x] }
      via: queue
`,
  `voice:
  upstream:
    - { url: wss://voice.example/v1/, share: 50 }
    - { url: ws://127.0.0.1:9/, token: abc }
processes:
  - { id: lamp, command: [node, lamp.mjs], protocol: lines }
`,
  `control:
  actions:
    lights_on:
      tool: self.light.set
      arguments: { on: { type: boolean, required: true, aliases: [value] } }
      result: { on: { argument: "on" } }
`,
  `defaults: &defaults
  port: 1
http: *defaults
mqtt: { <<: *defaults, port: 2 }
`,
  `a: &a [*a]
`,
  `? [complex, key]
: value
!!binary x: 2
date: 2001-12-14t21:59:43.10-05:00
`,
].map((text) => Buffer.from(text));
