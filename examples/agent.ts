import { Client } from '../src/client/client.ts';

const prices: Record<string, string> = { apple: '3', pear: '4', plum: '6' };
await using agent = await Client.connect({
  socket: process.argv[2]!,
  agent: 'shop',
  tools: {
    list_fruit: { class: 'read', handler: () => Object.keys(prices).join(' ') },
    price_of: { class: 'read', handler: ({ fruit }) => prices[fruit] ?? '0' },
  },
});
const outcome = await agent.runCode(`
  local sum = 0
  for fruit in tool.list_fruit{}:gmatch("%a+") do sum = sum + tool.price_of{fruit = fruit} end
  print("all together: " .. sum)`);
console.log(outcome.report);
