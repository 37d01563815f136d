import { describe, expect, it } from 'vitest';
import {
  credentialsOf,
  fieldsOf,
  fieldsOfStored,
  hostsOf,
  type Kind,
  kindOf,
} from '$/screens/connections/form';

const secret = { type: 'string', writeOnly: true, format: 'password' };
const kind = (id: string, provider: string | null, properties: object, required: string[]): Kind => ({
  id,
  title: id,
  description: '',
  leadsTo: 'http',
  provider,
  byConsent: false,
  hosts: [],
  schema: { type: 'object', properties, required } as unknown as Kind['schema'],
});
const bearer = kind('http-bearer', null, { apiKey: secret, baseUrl: { title: 'Base URL' } }, ['apiKey']);
const header = kind('http-header', null, { apiKey: secret, headerName: {}, baseUrl: {} }, [
  'apiKey',
  'headerName',
]);
const postgres = kind(
  'postgres',
  'postgres',
  { host: { examples: ['db.example.com'] }, password: secret, tls: { enum: ['verify', 'none'] } },
  ['host'],
);
const KINDS = [header, bearer, postgres];

describe('the form of a connection', () => {
  it('has the fields of its schema in their order', () => {
    expect(fieldsOf(postgres)).toEqual([
      {
        name: 'host',
        label: 'host',
        help: '',
        isSecret: false,
        isRequired: true,
        placeholder: 'db.example.com',
        options: [],
      },
      {
        name: 'password',
        label: 'password',
        help: '',
        isSecret: true,
        isRequired: false,
        placeholder: '',
        options: [],
      },
      {
        name: 'tls',
        label: 'tls',
        help: '',
        isSecret: false,
        isRequired: false,
        placeholder: '',
        options: ['verify', 'none'],
      },
    ]);
  });

  it('is found for a stored connection by its provider, or by its fields', () => {
    expect(kindOf(KINDS, 'postgres', ['url'])?.id).toBe('postgres');
    expect(kindOf(KINDS, 'shop', ['apiKey'])?.id).toBe('http-bearer');
    expect(kindOf(KINDS, 'shop', ['apiKey', 'headerName'])?.id).toBe('http-header');
    expect(kindOf(KINDS, 'shop', ['apiKey', 'own'])).toBeUndefined();
    expect(kindOf(KINDS, 'shop', ['host'])).toBeUndefined();
  });

  it('shows fields that no kind has, and never what is in them', () => {
    expect(fieldsOfStored(undefined, ['own']).map((field) => [field.name, field.isSecret])).toEqual([
      ['own', true],
    ]);
    expect(fieldsOfStored(postgres, ['host', 'own']).map((field) => field.name)).toEqual([
      'host',
      'password',
      'tls',
      'own',
    ]);
  });

  it('sends what was typed; of a new connection the usual choices, too', () => {
    const fields = fieldsOf(postgres);
    expect(credentialsOf(fields, { host: 'h', password: '' }, false)).toEqual({ host: 'h' });
    expect(credentialsOf(fields, { host: 'h' }, true)).toEqual({ host: 'h', tls: 'verify' });
    expect(credentialsOf(fields, { host: 'h', tls: 'none' }, true)).toEqual({ host: 'h', tls: 'none' });
  });

  it('reads hosts as people write them', () => {
    expect(hostsOf(' a.example,  *.b.example\n[::1]:443 ')).toEqual([
      'a.example',
      '*.b.example',
      '[::1]:443',
    ]);
    expect(hostsOf('  ')).toEqual([]);
  });
});
