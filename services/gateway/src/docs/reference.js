// The viewer is told nothing by the address of the page, asks nobody but this host, and sends no requests of the API: a
// signature needs a key, and no page should be given one.
SwaggerUIBundle({
  url: '/openapi.json',
  domNode: document.getElementById('reference'),
  layout: 'BaseLayout',
  presets: [SwaggerUIBundle.presets.apis],
  deepLinking: true,
  displayOperationId: true,
  queryConfigEnabled: false,
  showExtensions: false,
  supportedSubmitMethods: [],
  validatorUrl: null,
})
